/** One thing that `doctor` looked at. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly remedy?: string;
  /** Whether the server can do without it. */
  readonly optional?: true;
  /** It works, and is weaker than it could be. */
  readonly warning?: true;
}

/** A finding that needs nothing done. */
export function good(check: string, detail: string): Finding {
  return { check, ok: true, detail };
}

/** A finding that works all the same, with what would make it better. */
export function warning(check: string, detail: string, remedy: string): Finding {
  return { check, ok: false, optional: true, warning: true, detail, remedy };
}

/** A finding that something optional is not there, with how to get it. */
export function missing(check: string, detail: string, remedy: string): Finding {
  return { check, ok: false, optional: true, detail, remedy };
}

/** A finding that must be mended first. */
export function failure(check: string, detail: string, remedy: string): Finding {
  return { check, ok: false, detail, remedy };
}

/** Lays a finding out for people: how it is, what it is about, and what to do. */
export function toRow({ check, ok, optional, warning: weak, detail, remedy }: Finding): readonly string[] {
  const mark = ok ? "ok" : weak === true ? "warn" : optional === true ? "missing" : "FAILED";
  return [mark, check, remedy === undefined || ok ? detail : `${detail}. ${remedy}`];
}
