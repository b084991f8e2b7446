import type { SandboxSpec } from "../../core/runtime.ts";

/** The names of the labels that every container of ours carries. */
export const LABELS = {
  deployment: "toolyard.deployment",
  instance: "toolyard.instance",
  session: "toolyard.session",
  worker: "toolyard.worker",
  created: "toolyard.created",
  version: "toolyard.version",
  folder: "toolyard.folder",
} as const;

/** What the labels of a container say. */
export interface LabelFacts {
  /** All servers that share a state folder, one after another or side by side. */
  readonly deployment: string;
  /** One start of a server. */
  readonly instance: string;
  /** The session's folder in the state folder. */
  readonly folder: string;
  readonly created: Date;
  readonly version: string;
}

const MAX_LENGTH = 256;

/** Builds the labels of a container. */
export function toLabels(facts: LabelFacts, spec: Pick<SandboxSpec, "sessionId" | "workerId">): Record<string, string> {
  return {
    [LABELS.deployment]: facts.deployment,
    [LABELS.instance]: facts.instance,
    [LABELS.folder]: facts.folder,
    [LABELS.created]: facts.created.toISOString(),
    [LABELS.version]: facts.version,
    ...(spec.sessionId !== undefined && { [LABELS.session]: spec.sessionId.slice(0, MAX_LENGTH) }),
    ...(spec.workerId !== undefined && { [LABELS.worker]: spec.workerId.slice(0, MAX_LENGTH) }),
  };
}

/** The engine's filter for what belongs to a deployment. */
export function ofDeployment(deployment: string): { readonly label: string[] } {
  return { label: [`${LABELS.deployment}=${deployment}`] };
}
