import type { ContainerCreateOptions } from "dockerode";
import type { SandboxLimits } from "../../core/runtime.ts";

/** Where the session's own folder is seen in a container. */
export const SUPERVISOR_FOLDER = "/run/toolyard";
/** The user of every container whose image names no other one by number. */
export const SANDBOX_USER = "1000:1000";

// The supervisor's own memory and processes, which the limits of user code do not count.
const OVERHEAD_MIB = 48;
const OVERHEAD_PIDS = 4;
const MIB = 1024 * 1024;
// A file of a few bytes costs the host a kilobyte of kernel memory, so their number is bounded beside their size.
const FILES_PER_MIB = 256;
// Above the server's own, below that of user code: the host's memory and the container's are freed in this order.
const OOM_SCORE = 100;
const OPEN_FILES = 4096;

/** What one container is made from. */
export interface ContainerPlan {
  readonly name: string;
  /** By its id, so that a tag that moves changes nothing between the look and the start. */
  readonly imageId: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly user: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits: Required<SandboxLimits>;
  /** The folder of the host that holds the session's socket; absent for a container without supervisor. */
  readonly socketFolder?: string;
  /** The engine's name of an OCI runtime, as `runsc`. */
  readonly ociRuntime?: string;
}

/**
 * Builds what the engine is asked for: no capability, no new privilege, the default seccomp filter, no network, a root
 * that cannot be written, private memory-backed folders of bounded size, and bounds on all that can be used up.
 */
export function toContainerOptions(plan: ContainerPlan): ContainerCreateOptions {
  const { limits, socketFolder, ociRuntime } = plan;
  const disk = limits.diskMiB * MIB;
  const [uid, gid = uid] = plan.user.split(":");
  // The user's own: runc gives a folder that the image has the mode that it has there, whatever is asked for.
  const owner = `mode=1777,uid=${uid},gid=${gid}`;
  const folder = `rw,exec,nosuid,nodev,size=${disk},${owner},nr_inodes=${limits.diskMiB * FILES_PER_MIB + 1024}`;
  const memory = (limits.memoryMiB + OVERHEAD_MIB) * MIB;
  return {
    name: plan.name,
    Image: plan.imageId,
    Entrypoint: [...plan.command],
    Cmd: [],
    User: plan.user,
    WorkingDir: "/workspace",
    Hostname: "sandbox",
    Env: Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`),
    Labels: { ...plan.labels },
    NetworkDisabled: true,
    Healthcheck: { Test: ["NONE"] },
    StopSignal: "SIGKILL",
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      Privileged: false,
      SecurityOpt: ["no-new-privileges:true"],
      PidsLimit: limits.pids + OVERHEAD_PIDS,
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(limits.cpus * 1e9),
      OomScoreAdj: OOM_SCORE,
      IpcMode: "private",
      // Not in dockerode's types; without it, version 1 of cgroups shows the host's paths.
      ...{ CgroupnsMode: "private" },
      ShmSize: disk,
      Tmpfs: { "/workspace": folder, "/tmp": folder },
      Ulimits: [
        { Name: "nofile", Soft: OPEN_FILES, Hard: OPEN_FILES },
        // Above the folders' size, so that a full disk is told as such; it stops files of holes.
        { Name: "fsize", Soft: 2 * disk, Hard: 2 * disk },
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "memlock", Soft: 65_536, Hard: 65_536 },
      ],
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no" },
      ...(socketFolder !== undefined && { Binds: [`${socketFolder}:${SUPERVISOR_FOLDER}:ro`] }),
      ...(ociRuntime !== undefined && { Runtime: ociRuntime }),
    },
  };
}
