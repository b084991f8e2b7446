import type { z } from "zod";
import { Backend, type BackendHealth, type BackendSetup, type UsualSandbox } from "../../core/backend.ts";
import type { LifecycleContext, SessionRequest } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { RuntimeSelector, SandboxInstance } from "../../core/runtime.ts";
import type { Session } from "../../core/session.ts";
import { TerminalTools } from "../../core/terminal-tools.ts";
import { type BoundTool, scanTools } from "../../core/tool.ts";
import { AliasTools } from "./alias-tools.ts";
import { ArchiveTools } from "./archive-tools.ts";
import { BashTools } from "./bash-tools.ts";
import { CodeTools } from "./code-tools.ts";
import {
  CodeConfig,
  type CodeSessionConfig,
  createSessionSchema,
  StoredHandle,
  toRuntimeRequest,
  toSandboxSpec,
} from "./config.ts";
import { FileReadTools } from "./file-read-tools.ts";
import { FileWriteTools } from "./file-write-tools.ts";
import { SandboxTools } from "./sandbox-tools.ts";
import { SessionSandboxes } from "./sandboxes.ts";
import type { SandboxesOptions, SandboxHandle } from "./sandboxes-options.ts";
import type { CodeSession } from "./session.ts";
import { SnapshotStore } from "./snapshot-store.ts";
import { SnapshotTools } from "./snapshot-tools.ts";
import { bringBack } from "./snapshots.ts";

/**
 * Gives each session a box of its own, in which code, shell and files meet, with state that lasts from call to call.
 *
 * A session has one sandbox, in the first runtime that its config allows; a language that this runtime lacks gets a second
 * one from another runtime, if there is one of sufficient isolation. A sandbox that dies takes its session with it.
 */
export default class CodeBackend extends Backend<CodeSession> {
  readonly resource = "code";
  // Files are read and code is interrupted while other code runs; each kernel takes its own code one after another.
  override readonly concurrency = "parallel";
  override readonly description =
    "A sandbox per session: runs Python, JavaScript, TypeScript and bash, keeping state between calls; shell, files, ports, snapshots.";
  override readonly configSchema = CodeConfig;
  override readonly sessionSchema: z.ZodObject;
  readonly #config: CodeConfig;
  readonly #groups: readonly object[];
  readonly #snapshots: SnapshotStore;

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = CodeConfig.safeParse(setup.config).data ?? CodeConfig.parse({});
    this.sessionSchema = createSessionSchema(this.#config);
    const limits = { maxTimeoutMs: this.#config.max_timeout_ms, maxBackground: this.#config.max_background };
    this.#snapshots = new SnapshotStore(setup.dataDir, {
      snapshots: this.#config.max_snapshots,
      totalBytes: this.#config.max_snapshots_mib * 1024 * 1024,
    });
    this.#groups = [
      new CodeTools(limits),
      new BashTools(limits),
      new FileReadTools(),
      new FileWriteTools(),
      new ArchiveTools(),
      new SandboxTools(),
      new SnapshotTools(this.#snapshots),
      new TerminalTools<CodeSession>(({ session }) => session.data.sandboxes.able("spawn")),
      new AliasTools(limits),
    ];
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return scanTools(...this.#groups);
  }

  override get usualSandbox(): UsualSandbox {
    return { request: toRuntimeRequest(this.#config, {}), spec: toSandboxSpec(this.#config, {}) };
  }

  override async warmup({ signal }: LifecycleContext): Promise<void> {
    await this.#snapshots.tidy();
    const { request, spec } = this.usualSandbox;
    const runtime = await this.#selector().select(request, signal);
    await runtime.warmup?.(signal, [spec]);
  }

  override async initialize(request: SessionRequest, { signal }: LifecycleContext): Promise<CodeSession> {
    const config = createSessionSchema(this.#config).parse(request.config);
    const sandboxes = await SessionSandboxes.open(this.#toOptions(request, config), signal);
    if (config.snapshot !== undefined) {
      const { tenant } = request;
      try {
        await bringBack(this.#snapshots, sandboxes, { tenant, id: config.snapshot }, signal);
      } catch (error) {
        await sandboxes.stop();
        throw error;
      }
    }
    return this.#toSession(sandboxes, config);
  }

  override handle({ data }: Session<CodeSession>): SandboxHandle | null {
    return data.sandboxes.handle;
  }

  override async adopt(session: Session, { signal }: LifecycleContext): Promise<CodeSession | null> {
    const handle = StoredHandle.safeParse(session.data).data;
    if (handle === undefined) return null;
    const config = createSessionSchema(this.#config).parse(session.config);
    const options = this.#toOptions({ sessionId: session.id, workerId: session.workerId }, config);
    const sandboxes = await SessionSandboxes.adopt(options, handle, signal);
    return sandboxes && this.#toSession(sandboxes, config);
  }

  override async cleanup(session: Session<CodeSession | undefined>): Promise<void> {
    await session.data?.sandboxes.stop();
  }

  override async shutdown(): Promise<void> {
    await this.#snapshots.close();
  }

  override async health({ signal }: LifecycleContext): Promise<BackendHealth> {
    try {
      const { name } = await this.#selector().select(toRuntimeRequest(this.#config, {}), signal);
      return { up: true, details: { runtime: name } };
    } catch (error) {
      if (!ToolyardError.is(error)) throw error;
      return { up: false, reason: `${error.message} ${error.suggestion}` };
    }
  }

  override sandbox({ data }: Session<CodeSession>): SandboxInstance {
    data.sandboxes.assertAlive();
    return data.sandboxes.box;
  }

  #toOptions(owner: Pick<SessionRequest, "sessionId" | "workerId">, config: CodeSessionConfig): SandboxesOptions {
    const { sessionId, workerId } = owner;
    return {
      selector: this.#selector(),
      request: toRuntimeRequest(this.#config, config),
      spec: { sessionId, workerId, ...toSandboxSpec(this.#config, config) },
      maxKernels: this.#config.max_kernels,
    };
  }

  #toSession(sandboxes: SessionSandboxes, config: CodeSessionConfig): CodeSession {
    return { sandboxes, timeoutMs: config.timeout_ms ?? this.#config.timeout_ms, edits: new Map() };
  }

  #selector(): RuntimeSelector {
    if (this.runtimes !== undefined) return this.runtimes;
    throw new ToolyardError("runtime_unavailable", "the server gave the code backend no runtimes");
  }
}
