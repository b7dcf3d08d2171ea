// What breaks the rule is left alone, and the remark says why.
// RUN: tessera-opt %s -split-input-file --attn-fuse-online-softmax -verify-diagnostics | FileCheck %s
// RUN: not tessera-opt %s -split-input-file "--attn-fuse-online-softmax=mutate=no-such" 2>&1 | FileCheck %s --check-prefix=MUTATE

// Both loops of every kernel are still there.
// CHECK-COUNT-18: scf.for
// CHECK-NOT: scf.for
// MUTATE: attn-fuse-online-softmax knows no mutation 'no-such': none, no-rescale-u, no-rescale-l, no-guard, wrong-alpha

// exp(x + max) does not shrink as the max grows.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @sum_of_max schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: the row max is used otherwise than in exp(k * (x - max))}}
    %d = arith.addf %x, %wide : tensor<32x16xf32>
    %p = math.exp %d : tensor<32x16xf32>
    %next = attn.row_sum %p, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// exp(max - x): the sign is the wrong way round.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @reversed schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: the row max is used otherwise than in exp(k * (x - max))}}
    %d = arith.subf %wide, %x : tensor<32x16xf32>
    %p = math.exp %d : tensor<32x16xf32>
    %next = attn.row_sum %p, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// tanh(x - max) is not linear in exp(-max).
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @not_exp schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: the row max is used otherwise than in exp(k * (x - max))}}
    %p = math.tanh %d : tensor<32x16xf32>
    %next = attn.row_sum %p, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// The max itself, by rows.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @rows schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: the row max is used otherwise than in exp(k * (x - max))}}
    %d = arith.addf %l, %max : tensor<32xf32>
    %next = attn.row_sum %x, %d : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// The square of a weight is not linear in it.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @square schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    %p = math.exp %d : tensor<32x16xf32>
    // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: a weight goes into an op that is not a sum over the keys}}
    %pp = arith.mulf %p, %p : tensor<32x16xf32>
    %next = attn.row_sum %pp, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// The carried value is more than a sum.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @not_a_sum schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: a carried value is not a sum over the keys}}
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    %p = math.exp %d : tensor<32x16xf32>
    %half = arith.mulf %l, %zero : tensor<32xf32>
    %next = attn.row_sum %p, %half : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// A result between the loops needs the loop that would be gone.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @between schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: a result is used between the loops}}
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %double = arith.addf %max, %max : tensor<32xf32>
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    %p = math.exp %d : tensor<32x16xf32>
    %next = attn.row_sum %p, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// Control flow in a body.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @branches schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: a later loop writes or branches}}
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    %p = math.exp %d : tensor<32x16xf32>
    %first = arith.cmpi eq, %i, %c0 : index
    %next = scf.if %first -> (tensor<32xf32>) {
      %s = attn.row_sum %p, %l : tensor<32x16xf32> -> tensor<32xf32>
      scf.yield %s : tensor<32xf32>
    } else {
      scf.yield %l : tensor<32xf32>
    }
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}

// -----

// A sum of one tile that goes on within the loop.
!global = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1]>>
attn.kernel @inner_sum schedule(<"v1:q32,kv16,w2,s1,every,add,qsmem,online">) target(<"sm_80">) access_bytes(16) {
^bb0(%q: !global, %k: !global, %v: !global, %o: !global):
  %batch, %head, %kvHead, %row = attn.program_id
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tiles = attn.length key
  %neginf = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %x = arith.constant dense<0.0> : tensor<32x16xf32>
  %max = scf.for %i = %c0 to %tiles step %c1 iter_args(%m = %neginf) -> (tensor<32xf32>) {
    %next = attn.row_max %x init %m : tensor<32xf32> : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%l = %zero) -> (tensor<32xf32>) {
    %wide = attn.expand_rows %max : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %x, %wide : tensor<32x16xf32>
    %p = math.exp %d : tensor<32x16xf32>
    // expected-remark @below {{attn-fuse-online-softmax leaves the loops apart: a weighted sum is used within its loop}}
    %tile = attn.row_sum %p, %zero : tensor<32x16xf32> -> tensor<32xf32>
    %wideSum = attn.expand_rows %tile : tensor<32xf32> -> tensor<32x16xf32>
    %next = attn.row_sum %wideSum, %l : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %next : tensor<32xf32>
  }
  attn.return
}
