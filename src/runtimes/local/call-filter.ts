import { readFileSync } from "node:fs";

/** What one processor calls its system calls. */
interface Machine {
  /** The kernel's name for it, AUDIT_ARCH_…. */
  readonly audit: number;
  /** Numbers from here on belong to another way of calling the same machine. */
  readonly foreignFrom?: number;
  readonly clone: number;
  readonly refused: readonly number[];
}

/** The newer calls, which have one number everywhere: io_uring, the new mounts and clone3. */
const REFUSED_EVERYWHERE = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442];
const CLONE3 = 435;

// In this order: mount, umount2, pivot_root, chroot, swapon, swapoff, reboot, sethostname, setdomainname, init_module,
// delete_module, finit_module, quotactl, acct, settimeofday, clock_settime, kexec_load, kexec_file_load, syslog,
// open_by_handle_at, add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd, lookup_dcookie, unshare, setns.
const MACHINES: Readonly<Partial<Record<NodeJS.Architecture, Machine>>> = {
  x64: {
    audit: 0xc000_003e,
    foreignFrom: 0x4000_0000,
    clone: 56,
    refused: [
      ...[165, 166, 155, 161, 167, 168, 169, 170, 171, 175, 176, 313, 179, 163, 164, 227, 246, 320, 103],
      ...[304, 248, 249, 250, 298, 321, 323, 212, 272, 308],
      // iopl and ioperm, which only this machine has.
      ...[172, 173],
    ],
  },
  arm64: {
    audit: 0xc000_00b7,
    clone: 220,
    refused: [
      ...[40, 39, 41, 51, 224, 225, 142, 161, 162, 105, 106, 273, 60, 89, 170, 112, 104, 294, 116],
      ...[265, 217, 218, 219, 241, 280, 282, 18, 97, 268],
    ],
  },
};

/** The flags of clone that make namespaces. */
const NEW_NAMESPACES = 0x7e02_0000;

const LOAD_WORD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const ANSWER = 0x06;

const ALLOW = 0x7fff_0000;
const EPERM = 0x0005_0001;
const ENOSYS = 0x0005_0026;

// Where a filter finds them: struct seccomp_data.
const CALL_NUMBER = 0;
const MACHINE = 4;
const FIRST_ARGUMENT = 16;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * Builds the seccomp filter of local sandboxes: what needs a capability anyway, what makes namespaces, and what is shared past
 * all namespaces (the kernel's keys) is refused; `undefined` for a machine whose numbers are not known here.
 */
export function createCallFilter(architecture: NodeJS.Architecture = process.arch): Buffer | undefined {
  const machine = MACHINES[architecture];
  if (machine === undefined) return undefined;
  const { audit, foreignFrom, clone, refused } = machine;
  const when = (test: number, value: number, answer: number): Instruction[] => [
    [test, 0, 1, value],
    [ANSWER, 0, 0, answer],
  ];
  return assemble([
    [LOAD_WORD, 0, 0, MACHINE],
    // A 32-bit program's calls have other numbers.
    [IF_EQUAL, 1, 0, audit],
    [ANSWER, 0, 0, ENOSYS],
    [LOAD_WORD, 0, 0, CALL_NUMBER],
    ...(foreignFrom === undefined ? [] : when(IF_AT_LEAST, foreignFrom, ENOSYS)),
    ...[...refused, ...REFUSED_EVERYWHERE].flatMap((number) => when(IF_EQUAL, number, EPERM)),
    // Its flags are in memory, which no filter sees; every libc takes clone instead.
    ...when(IF_EQUAL, CLONE3, ENOSYS),
    [IF_EQUAL, 0, 3, clone],
    [LOAD_WORD, 0, 0, FIRST_ARGUMENT],
    ...when(IF_ANY_BIT, NEW_NAMESPACES, EPERM),
    [ANSWER, 0, 0, ALLOW],
  ]);
}

/** Whether this kernel filters system calls. */
export function canFilterCalls(): boolean {
  try {
    return readFileSync("/proc/self/status", "utf8").includes("\nSeccomp:");
  } catch {
    return false;
  }
}

function assemble(instructions: readonly Instruction[]): Buffer {
  const program = Buffer.alloc(instructions.length * 8);
  instructions.forEach(([code, ifTrue, ifFalse, value], index) => {
    const at = index * 8;
    program.writeUInt16LE(code, at);
    program.writeUInt8(ifTrue, at + 2);
    program.writeUInt8(ifFalse, at + 3);
    program.writeUInt32LE(value, at + 4);
  });
  return program;
}
