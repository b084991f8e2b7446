import { type Clock, systemClock } from "../core/clock.ts";
import type { Config } from "../config/schema.ts";
import type { RuntimeSelector, SandboxLimits, SandboxSpec } from "../core/runtime.ts";
import type { UsualSandbox } from "../core/backend.ts";
import type { Logger } from "../core/context.ts";
import type { PoolOptions } from "../runtimes/pool/pool-options.ts";
import type { DockerRuntimeOptions } from "../runtimes/docker/runtime.ts";
import { chooseStateFolder } from "../runtimes/docker/state-folder.ts";
import { createRuntimeSelector } from "../runtimes/selector.ts";
import { createEgress } from "../egress/egress.ts";
import { createLogger } from "../log/logger.ts";
import { BUILT_IN } from "./built-in.ts";

const CHECK_MS = 15_000;
const REAP_MS = 60_000;
const REAP_AGAIN_MS = 30_000;

/** Of the server that sandboxes are made for. */
export interface RuntimesOwner {
  /** Where its state is kept; absent for a server that keeps none. */
  readonly dataDir?: string;
  readonly version?: string;
  readonly logger?: Logger;
}

/** Makes the places where sandboxes run, as the config orders them; starts and looks for nothing yet. */
export function openRuntimes({ runtimes }: Pick<Config, "runtimes">, owner: RuntimesOwner = {}): RuntimeSelector {
  const { order, docker, local, quickjs, egress: limits } = runtimes;
  const { allowed_addresses: allowedAddresses, connections } = limits;
  const logger = owner.logger ?? createLogger({ level: "silent" });
  const egress = createEgress({ clock: systemClock, logger, allowedAddresses, limits: { connections } });
  return createRuntimeSelector({
    order,
    docker: { ...toDockerOptions(docker, owner), egress },
    local: { limits: toSandboxLimits(local.limits), egress },
    quickjs: {
      limits: toSandboxLimits(quickjs.limits),
      ...(quickjs.spares !== undefined && { spares: quickjs.spares }),
    },
    pools: { docker: toPoolOptions(docker.pool), local: toPoolOptions(local.pool) },
  });
}

/** Whether any backend of the config runs sandboxes. */
export function needsRuntimes({ resources }: Pick<Config, "resources">): boolean {
  return Object.entries(resources).some(
    ([name, { enabled, backend = name }]) => enabled && BUILT_IN[backend]?.needsRuntimes === true,
  );
}

/** Says in the log which runtime serves unless a call asks for another, and why those before it do not. */
export async function reportRuntimes(runtimes: RuntimeSelector, logger: Logger): Promise<void> {
  try {
    const status = await runtimes.status(AbortSignal.timeout(CHECK_MS));
    const found = runtimes.names.flatMap((name) => (status[name] === undefined ? [] : [{ name, ...status[name] }]));
    const chosen = found.find(({ available }) => available);
    const missing = found.filter(({ available }) => !available).map(({ name, reason }) => [name, reason ?? ""]);
    const facts = { runtime: chosen?.name ?? null, isolation: chosen?.isolation ?? null };
    logger.info({ ...facts, missing: Object.fromEntries(missing) }, "sandboxes run here");
  } catch (error) {
    logger.warn({ err: error }, "the runtimes could not be checked");
  }
}

/** What {@link settleRuntimes} goes by. */
export interface SettleOptions {
  /** What backends will usually ask for, for the pools to hold. */
  readonly usual?: readonly UsualSandbox[];
  /** Until it fires, a runtime that cannot be asked is asked again; without it none is. */
  readonly retryUntil?: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Removes what earlier processes left in the runtimes and nobody adopted, and starts to fill the pools. To be called once, when
 * every session of the last server is adopted or lost; never rejects.
 */
export async function settleRuntimes(
  runtimes: RuntimeSelector,
  config: Pick<Config, "runtimes">,
  logger: Logger,
  { usual = [], retryUntil = AbortSignal.abort(), clock = systemClock }: SettleOptions = {},
): Promise<void> {
  await Promise.all(
    runtimes.names.map(async (name) => {
      const runtime = runtimes.get?.(name);
      for (let attempt = 1; ; attempt += 1) {
        try {
          // One attempt after another is the point.
          // oxlint-disable-next-line no-await-in-loop
          const reaped = await runtime?.reap?.(AbortSignal.timeout(REAP_MS));
          if (reaped !== undefined && reaped > 0)
            logger.info({ runtime: name, reaped }, "sandboxes of the last server are gone");
          // oxlint-disable-next-line no-await-in-loop
          if (poolOf(config, name)?.min) await fillPool(runtimes, name, usual);
          return;
        } catch (error) {
          const message = "sandboxes that the last server left could not be removed";
          if (attempt === 1) logger.warn({ err: error, runtime: name }, message);
        }
        if (retryUntil.aborted) return;
        // oxlint-disable-next-line no-await-in-loop
        await pause(clock, retryUntil);
        if (retryUntil.aborted) return;
      }
    }),
  );
}

function pause(clock: Clock, until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(REAP_AGAIN_MS, resolve);
    const end = () => {
      cancel();
      resolve();
    };
    until.addEventListener("abort", end, { once: true });
  });
}

async function fillPool(runtimes: RuntimeSelector, name: string, usual: readonly UsualSandbox[]): Promise<void> {
  const signal = AbortSignal.timeout(REAP_MS);
  await runtimes.get?.(name)?.warmup?.(signal, await specsOf(runtimes, name, usual, signal));
}

/** What the sandboxes are made from that backends will usually ask a runtime for. */
async function specsOf(
  runtimes: RuntimeSelector,
  name: string,
  usual: readonly UsualSandbox[],
  signal: AbortSignal,
): Promise<SandboxSpec[]> {
  const chosen = await Promise.all(
    usual.map(async ({ request, spec }) => {
      // Where none serves, its sessions are told why.
      const runtime = await runtimes.select(request, signal).catch(() => undefined);
      return runtime?.name === name ? [spec] : [];
    }),
  );
  return chosen.flat();
}

function poolOf({ runtimes }: Pick<Config, "runtimes">, name: string): PoolConfig {
  return name === "local" || name === "docker" ? runtimes[name].pool : undefined;
}

type PoolConfig = Config["runtimes"]["local"]["pool"];

function toPoolOptions(pool: PoolConfig): PoolOptions | undefined {
  if (pool === undefined) return undefined;
  const { idle_ms: idleMs, ...options } = pool;
  return { ...options, idleMs };
}

function toDockerOptions(docker: Config["runtimes"]["docker"], owner: RuntimesOwner): DockerRuntimeOptions {
  const { socket, image, images, pull, runtime, limits, max_limits: maxima } = docker;
  const { state_folder: configured, orphan_seconds: orphanSeconds } = docker;
  const { dataDir, version, logger } = owner;
  const folder = { ...(configured !== undefined && { configured }), ...(dataDir !== undefined && { dataDir }) };
  return {
    ...{ images, pull, orphanSeconds, limits: toContainerLimits(limits), maxLimits: toContainerLimits(maxima) },
    ...(socket !== undefined && { socket }),
    ...(image !== undefined && { image }),
    ...(runtime !== undefined && { ociRuntime: runtime }),
    stateFolder: chooseStateFolder(folder),
    ...(version !== undefined && { version }),
    ...(logger !== undefined && { logger }),
  };
}

function toContainerLimits({ cpus, ...limits }: Config["runtimes"]["docker"]["limits"]): SandboxLimits {
  return { ...toSandboxLimits(limits), ...(cpus !== undefined && { cpus }) };
}

function toSandboxLimits(limits: Config["runtimes"]["local"]["limits"]): SandboxLimits {
  const { memory_mib, pids, disk_mib, output_bytes, result_bytes, calls, calls_in_flight } = limits;
  return {
    ...(memory_mib !== undefined && { memoryMiB: memory_mib }),
    ...(pids !== undefined && { pids }),
    ...(disk_mib !== undefined && { diskMiB: disk_mib }),
    ...(output_bytes !== undefined && { outputBytes: output_bytes }),
    ...(result_bytes !== undefined && { resultBytes: result_bytes }),
    ...(calls !== undefined && { calls }),
    ...(calls_in_flight !== undefined && { callsInFlight: calls_in_flight }),
  };
}
