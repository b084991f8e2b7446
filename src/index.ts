// The public entry, by name: the contract for authors of plugins, and the client. It must stay cheap to import, so
// nothing here may lead to the server, to a runtime or to a native module.

export type { ActionsOf, Action } from "./core/action.ts";
export { Backend, type BackendHealth, type BackendSetup } from "./core/backend.ts";
export type { ActionCaller, CallerKind, CallOptions, ToolListing } from "./core/caller.ts";
export { type Clock, systemClock } from "./core/clock.ts";
export type { LifecycleContext, Logger, SessionRequest, ToolContext } from "./core/context.ts";
export type { ControlHolder, SessionControl } from "./core/control.ts";
export type { Display, DisplayedTable } from "./core/display.ts";
export { type ErrorName, type ErrorOptions, ERRORS, type Outcome, ToolyardError } from "./core/errors.ts";
export type { Actor, CallFailureData, EventData, EventType, ToldByTools } from "./core/events.ts";
export type { KernelState, KernelStateOptions } from "./core/kernel-state.ts";
export type { GapEvent, LoggedEvent } from "./core/logged-event.ts";
export type { Envelope } from "./core/protocol.ts";
export type { ResultMeta, ToolFailure, ToolResult } from "./core/result.ts";
export type {
  ExecOptions,
  Execution,
  Isolation,
  Kernel,
  Language,
  NetworkPolicy,
  RuntimeRequest,
  RuntimeSelector,
  SandboxInstance,
  SandboxRuntime,
  SandboxSpec,
} from "./core/runtime.ts";
export type * from "./core/sandbox-files.ts";
export type * from "./core/sandbox-process.ts";
export type { SandboxStats } from "./core/sandbox-stats.ts";
export type { Session } from "./core/session.ts";
export type {
  SessionTerminals,
  TerminalRequest,
  TerminalScreen,
  TerminalStatus,
  TerminalText,
} from "./core/terminal.ts";
export { type CallerInput, type Input, tool, type ToolAnnotations, type ToolOptions } from "./core/tool.ts";

export type { ActionArguments, ActionMap, ActionName, ActionParams, ActionResult } from "./client/action-map.ts";
export type {
  BatchInitialized,
  BatchResult,
  ConfigLoaded,
  HealthReport,
  HeartbeatReport,
  ReadyReport,
  ResourceInitialized,
  SessionCreated,
  SessionDestroyed,
  SessionDetails,
  SessionListing,
  SessionRefreshed,
  ShutdownReport,
  WarmupReport,
  WarmupStatus,
  WorkerDisconnected,
  WorkerStatus,
} from "./client/answers.ts";
export type { CallEvent } from "./client/call-events.ts";
export type { EventsFilter, FollowedEvent } from "./client/follow-events.ts";
export type { BatchCall, BatchOptions, HttpCallOptions } from "./client/call-request.ts";
export { ClientError } from "./client/errors/client-error.ts";
export { ConnectionError, type ConnectionFailure } from "./client/errors/connection-error.ts";
export { ProtocolError } from "./client/errors/protocol-error.ts";
export { ServerError } from "./client/errors/server-error.ts";
export { ServerEndedError, type ServerExit } from "./client/errors/server-ended-error.ts";
export { ServerStartError } from "./client/errors/server-start-error.ts";
export { HttpServiceClient } from "./client/http-client.ts";
export { Job, type JobState, type JobStatus, type JobWaitOptions } from "./client/job.ts";
export type { HttpServiceClientOptions, SessionOptions } from "./client/http-client-options.ts";
export { Sandbox } from "./client/sandbox.ts";
export type { SandboxOptions } from "./client/sandbox-options.ts";
export type {
  SessionOutcome,
  SessionReinitialized,
  SessionsCreated,
  SessionsDestroyed,
  SessionsRequest,
} from "./client/sandbox-sessions.ts";
export type { DownloadOptions, SessionFiles, Unpacked, Uploaded, UploadOptions } from "./client/session-files.ts";
export type { ExposedUrl, PortListing, SessionPorts } from "./client/session-ports.ts";
export type { ControlRequest, ControlState, HeldControl, HumanControl } from "./client/human-control.ts";
export type { DesktopState, SessionDesktop, WatchOptions, WatchUrl } from "./client/session-desktop.ts";
export type {
  SessionTerminals as TerminalsClient,
  TerminalOptions,
  TerminalRecording,
} from "./client/session-terminals.ts";
export type { SessionFilter, SessionRegistry } from "./client/session-registry.ts";
export type { UploadContent } from "./client/transfer.ts";
export { formatToolResult, registerFormatter, toContentBlocks } from "./client/format/format-tool-result.ts";
export { ResultFormatter } from "./client/format/result-formatter.ts";
export type { ContentBlock, FormatOptions, Formattable, ToolFormatter, ToolView } from "./client/format/tool-view.ts";
