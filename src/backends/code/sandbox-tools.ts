import { ToolyardError } from "../../core/errors.ts";
import type { SessionPorts } from "../../core/exposed-port.ts";
import { SANDBOX_ABILITIES } from "../../core/sandbox-ability.ts";
import { type Input, tool } from "../../core/tool.ts";
import {
  ExposeParams,
  ExposeResult,
  InfoResult,
  PausedResult,
  PortsResult,
  UnexposeParams,
  UnexposeResult,
} from "./sandbox-schemas.ts";
import type { CodeContext } from "./session.ts";

const WORKING_FOLDER = "/workspace";

/** `sandbox:*`: the box itself and its ports. */
export class SandboxTools {
  @tool({
    name: "sandbox:info",
    description: "Say what the session's sandbox is: its runtime, limits, network, abilities and interpreters.",
    result: InfoResult,
    annotations: { title: "About the sandbox", readOnlyHint: true, idempotentHint: true },
  })
  info(_params: object, { session }: CodeContext): InfoResult {
    const { sandboxes } = session.data;
    sandboxes.assertAlive();
    const { box, spec } = sandboxes;
    const { network = "none" } = spec;
    const limits = box.limits ?? spec.limits ?? {};
    return {
      sandbox_id: box.id,
      session_id: session.id,
      runtime: box.runtime,
      isolation: box.isolation,
      image: box.image ?? null,
      network: network === "none" ? network : { allow: [...network.allow] },
      limits: {
        memory_mib: limits.memoryMiB ?? null,
        pids: limits.pids ?? null,
        disk_mib: limits.diskMiB ?? null,
        cpus: limits.cpus ?? null,
      },
      folder: WORKING_FOLDER,
      abilities: SANDBOX_ABILITIES.filter((ability) => box[ability] !== undefined),
      paused: sandboxes.paused,
      kernels: sandboxes.kernels.map(({ name, kernel, busy }) => ({ name, language: kernel.language, busy })),
    };
  }

  @tool({
    name: "sandbox:pause",
    description: "Freeze every process of the sandbox; its state stays, and calls are refused until it is resumed.",
    result: PausedResult,
    annotations: { title: "Pause the sandbox", destructiveHint: false, idempotentHint: true },
  })
  async pause(_params: object, { session, signal }: CodeContext): Promise<PausedResult> {
    await session.data.sandboxes.pause(signal);
    return { paused: true };
  }

  @tool({
    name: "sandbox:resume",
    description: "Let a paused sandbox go on.",
    result: PausedResult,
    annotations: { title: "Resume the sandbox", destructiveHint: false, idempotentHint: true },
  })
  async resume(_params: object, { session, signal }: CodeContext): Promise<PausedResult> {
    await session.data.sandboxes.resume(signal);
    return { paused: false };
  }

  @tool({
    name: "sandbox:expose",
    description:
      "Open a port of the sandbox to the outside: answers a URL with a ticket, for HTTP and WebSocket, that opens it for " +
      "whoever has it until it expires.",
    params: ExposeParams,
    result: ExposeResult,
    annotations: { title: "Expose a port", destructiveHint: false, openWorldHint: true },
  })
  expose({ port, ttl_ms: ttlMs }: Input<typeof ExposeParams>, context: CodeContext): ExposeResult {
    context.session.data.sandboxes.able("connect");
    const { id, url, ticket, expiresAt } = portsOf(context).expose(port, { ttlMs });
    return { id, port, url, ticket, expires_at: expiresAt.toISOString() };
  }

  @tool({
    name: "sandbox:unexpose",
    description: "Close every URL that opens a port, and what is connected through it.",
    params: UnexposeParams,
    result: UnexposeResult,
    annotations: { title: "Close a port", destructiveHint: true, idempotentHint: true },
  })
  unexpose({ port }: Input<typeof UnexposeParams>, context: CodeContext): UnexposeResult {
    return { port, closed: portsOf(context).unexpose(port) };
  }

  @tool({
    name: "sandbox:ports",
    description: "List the ports that are open to the outside.",
    result: PortsResult,
    annotations: { title: "Exposed ports", readOnlyHint: true, idempotentHint: true },
  })
  ports(_params: object, context: CodeContext): PortsResult {
    return {
      ports: portsOf(context)
        .list()
        .map(({ id, port, createdAt, expiresAt }) => ({
          id,
          port,
          created_at: createdAt.toISOString(),
          expires_at: expiresAt.toISOString(),
        })),
    };
  }
}

function portsOf({ ports }: CodeContext): SessionPorts {
  if (ports !== undefined) return ports;
  throw new ToolyardError("runtime_unavailable", "this server opens no ports of sandboxes to the outside");
}
