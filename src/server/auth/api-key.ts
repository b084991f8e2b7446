import { hash, randomBytes } from "node:crypto";

/** An API key taken apart. */
export interface ApiKey {
  readonly id: string;
  readonly secret: string;
}

const ID_BYTES = 6;
/** 160 bits. */
const SECRET_BYTES = 20;
const SHAPE = /^ty_([0-9a-f]{12})_([0-9a-f]{40})$/;

/** Draws a new key. */
export function mintKey(): ApiKey {
  return { id: randomBytes(ID_BYTES).toString("hex"), secret: randomBytes(SECRET_BYTES).toString("hex") };
}

/** Writes a key as its owner sees it, once. */
export function formatKey({ id, secret }: ApiKey): string {
  return `ty_${id}_${secret}`;
}

/** Takes a key apart; `undefined` for what has not its shape. */
export function parseKey(text: string): ApiKey | undefined {
  const [, id, secret] = SHAPE.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** The SHA-256 of a secret. A random secret of 160 bits needs no slow hash. */
export function digestOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
