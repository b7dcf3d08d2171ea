/* The private entry points of libtessera-sim.so, beside the CUDA driver API that it exports. C, thread-safe, resolved
 * by name with dlsym. A result is 0, or the CUresult that says what kind of mistake it was, and then
 * tessera_sim_last_error explains it. */
#ifndef TESSERA_SIMULATOR_API_H
#define TESSERA_SIMULATOR_API_H

#ifdef __cplusplus
extern "C" {
#endif

/* The ordinal of the device that poses as this profile ("a100"); made when there is none yet.
 * CUDA_ERROR_INVALID_DEVICE: no such profile. */
int tessera_sim_find_device(const char *profile, int *ordinal);

/* clang-format off */
/* Sets options for later launches from a JSON object. Keys left out stay as they are; an unknown key or value changes nothing at all.
 *   "devices"  ["a100", "h100"]      devices that shall exist; added behind those there are
 *   "checks"   true | false          shadow state: uninitialised reads, hazards of asynchronous copies, races; bounds are checked always
 *   "races"    true | false          with checks: conflicting accesses of shared and global memory that nothing orders
 *   "counters" true | false          count instructions and bytes; without, modelled times are the least that a kernel can take
 *   "schedule" "late" | "eager" | "random"       when asynchronous operations take effect, and in which order warps and blocks advance
 *   "mma"      "hardware" | "exact" | "stress"   arithmetic of matrix instructions
 *   "seed"     integer               of "random" and "stress"
 *   "threads"  integer               host threads of one launch; 0: one for each processor
 *   "max_findings"      integer      findings of one launch that are reported
 *   "instruction_limit" integer      of one warp, until a launch counts as hung; 0: none
 *   "clock_mhz"         number       of %globaltimer against %clock; 0: the boost clock of the device
 *   "print"    true | false          write the report of a launch with findings to stderr
 *   "fail_on_findings"  true | false a finding that a GPU would not notice fails the launch too (CUDA_ERROR_LAUNCH_FAILED)
 *   "sticky"   true | false          a fault fails every later call in its context, as on a GPU; else the next synchronisation only
 * The environment variable TESSERA_SIM_OPTIONS holds such an object for programs that do not call this. */
/* clang-format on */
int tessera_sim_configure(const char *json);

/* The options in force, as such a JSON object. Valid until the thread's next call of a function that returns text. */
const char *tessera_sim_options(void);

/* The names of the profiles that devices can pose as, oldest first, as a JSON list. Validity as above. */
const char *tessera_sim_profiles(void);

/* The last launch that finished in the process, as JSON objects; "{}" before the first, and as counters when they were
 * off. The report holds the kernel's name, the device, and "findings" (kind, readable text and what is known of
 * instruction, line, thread and address). Validity as above. */
const char *tessera_sim_report(void);
const char *tessera_sim_counters(void);

/* Why the thread's last call of one of these functions failed. */
const char *tessera_sim_last_error(void);

/* Forgets options, report, counters and the errors of contexts. Devices, memory, modules and streams stay. */
int tessera_sim_reset(void);

#ifdef __cplusplus
}
#endif

#endif
