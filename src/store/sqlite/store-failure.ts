import { StoreError } from "../../core/store.ts";

/** Turns what the driver threw into the port's error; `work` says what failed, for a log. */
export function toStoreError(error: unknown, work: string): StoreError {
  if (error instanceof StoreError) return error;
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  const message = error instanceof Error ? error.message : String(error);
  if (code.startsWith("SQLITE_FULL") || code === "ENOSPC" || code === "EDQUOT")
    return new StoreError("full", `${work}: the disk is full.`, { cause: error });
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") {
    return new StoreError("corrupt", `${work}: the file is damaged, or no database (${message}).`, { cause: error });
  }
  return new StoreError("failed", `${work}: ${message}`, { cause: error });
}
