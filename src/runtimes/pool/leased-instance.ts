import { ToolyardError } from "../../core/errors.ts";
import type { Kernel, SandboxExit, SandboxInstance } from "../../core/runtime.ts";

const RETURNED: SandboxExit = { reason: "it was stopped", expected: true, exitCode: null, signal: null };

/**
 * One owner's view of a sandbox that may have another owner later: `stop` gives it back in place of ending it, and nothing
 * of the view works afterwards.
 */
export function lease(instance: SandboxInstance, giveBack: () => Promise<void>): SandboxInstance {
  const { promise: returned, resolve } = Promise.withResolvers<SandboxExit>();
  let ending: Promise<void> | undefined;
  const assertHeld = (): void => {
    if (ending !== undefined) throw new ToolyardError("sandbox_dead", "the sandbox was stopped");
  };
  /** Passes a method on for as long as the sandbox is the owner's. */
  const held =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      assertHeld();
      return method(...args);
    };
  const { exec, spawn, processes, files, connect, stats, reset, pause, resume, ping } = instance;
  return {
    id: instance.id,
    runtime: instance.runtime,
    isolation: instance.isolation,
    ...(instance.image !== undefined && { image: instance.image }),
    ...(instance.limits !== undefined && { limits: instance.limits }),
    ...(instance.handle !== undefined && { handle: instance.handle }),
    ...(instance.found !== undefined && { found: instance.found }),
    closed: Promise.race([instance.closed, returned]),
    openKernel: held(async (...args) => leaseKernel(await instance.openKernel(...args), assertHeld)),
    stop: () => {
      ending ??= giveBack().finally(() => resolve(RETURNED));
      return ending;
    },
    ...(exec !== undefined && { exec: held(exec.bind(instance)) }),
    ...(spawn !== undefined && { spawn: held(spawn.bind(instance)) }),
    ...(processes !== undefined && { processes: held(processes.bind(instance)) }),
    ...(connect !== undefined && { connect: held(connect.bind(instance)) }),
    ...(stats !== undefined && { stats: held(stats.bind(instance)) }),
    ...(reset !== undefined && { reset: held(reset.bind(instance)) }),
    ...(pause !== undefined && { pause: held(pause.bind(instance)) }),
    ...(resume !== undefined && { resume: held(resume.bind(instance)) }),
    ...(ping !== undefined && { ping: held(ping.bind(instance)) }),
    ...(files !== undefined && { files: guard(files, assertHeld) }),
  };
}

function leaseKernel(kernel: Kernel, assertHeld: () => void): Kernel {
  const { dumpState, loadState } = kernel;
  return {
    language: kernel.language,
    run: async (...args) => {
      assertHeld();
      return kernel.run(...args);
    },
    interrupt: () => {
      assertHeld();
      kernel.interrupt();
    },
    stop: async () => {
      assertHeld();
      await kernel.stop();
    },
    ...(dumpState !== undefined && {
      dumpState: async (...args) => {
        assertHeld();
        return dumpState.apply(kernel, args);
      },
    }),
    ...(loadState !== undefined && {
      loadState: async (...args) => {
        assertHeld();
        return loadState.apply(kernel, args);
      },
    }),
  };
}

/** Every method of an object, refused once its sandbox is given back. */
function guard<T extends object>(target: T, assertHeld: () => void): T {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        assertHeld();
        return Reflect.apply(value, object, args);
      };
    },
  });
}
