// Arithmetic rounded toward zero or an infinity, and the elementary functions, out of line.
#pragma once

#include "runtime/simulator/program/Op.h"

namespace tessera::sim::numerics {

using program::Rounding;

float add(float a, float b, Rounding rounding);
float mul(float a, float b, Rounding rounding);
float fma(float a, float b, float c, Rounding rounding);
float div(float a, float b, Rounding rounding);
float sqrt(float a, Rounding rounding);
double add(double a, double b, Rounding rounding);
double mul(double a, double b, Rounding rounding);
double fma(double a, double b, double c, Rounding rounding);
double div(double a, double b, Rounding rounding);
double sqrt(double a, Rounding rounding);
float narrow(double a, Rounding rounding);
float fromInteger(int64_t a, Rounding rounding, float);
float fromInteger(uint64_t a, Rounding rounding, float);
double fromInteger(int64_t a, Rounding rounding, double);
double fromInteger(uint64_t a, Rounding rounding, double);

// Rounded once from a double result: what the .approx instructions give outside stress mode.
float sine(float x);
float cosine(float x);
float log2(float x);
float tanh(float x);
double tanh(double x);
double rsqrt(double x);

/// a · b + c with the sticky bit in the last place ("round to odd"), so that a second rounding to at most 24 bits is
/// exact. For inputs of at most 24 significant bits.
double fmaOdd(double a, double b, double c);

} // namespace tessera::sim::numerics
