import { createHash } from "node:crypto";
import type { SandboxSpec } from "../../core/runtime.ts";

/** What sandboxes that can stand for one another are made from: a spec without its owner. */
export type Template = Omit<SandboxSpec, "sessionId" | "workerId">;

/** Leaves the owner out of a spec, and whatever says nothing. */
export function toTemplate({ image, network, limits, environment }: SandboxSpec): Template {
  const said = limits === undefined ? {} : withoutUndefined(limits);
  return {
    ...(image !== undefined && { image }),
    ...(network !== undefined && network !== "none" && { network }),
    ...(Object.keys(said).length > 0 && { limits: said }),
    ...(environment !== undefined && Object.keys(environment).length > 0 && { environment }),
  };
}

/** Names a template: equal for those that mean the same, whatever the order of their keys. A hash, for environments hold secrets. */
export function toTemplateKey({ image, network, limits, environment }: Template): string {
  const hosts = network === undefined || network === "none" ? null : network.allow.toSorted();
  const parts = [image ?? null, hosts, toSortedEntries(limits), toSortedEntries(environment)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

function withoutUndefined<T extends object>(value: T): T {
  // Only keys without a value go, and every key of limits is optional.
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}

function toSortedEntries(value: object | undefined): readonly (readonly [string, unknown])[] {
  return Object.entries(value ?? {}).toSorted(([left], [right]) => (left < right ? -1 : 1));
}
