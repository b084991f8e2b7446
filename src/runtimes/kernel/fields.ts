import { ProtocolViolation } from "./frame.ts";

/** A JSON object whose fields are unchecked yet. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
export const wrong = (key: string): ProtocolViolation =>
  new ProtocolViolation(`a frame's field "${key}" is missing or wrong`);

export function count(message: Fields, key: string): number {
  const value = message[key];
  if (!isCount(value)) throw wrong(key);
  return value;
}

export function integer(message: Fields, key: string): number {
  const value = message[key];
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw wrong(key);
  return value;
}

export function amount(message: Fields, key: string): number {
  const value = message[key];
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) throw wrong(key);
  return value;
}

export function text(message: Fields, key: string): string {
  const value = message[key];
  if (typeof value !== "string") throw wrong(key);
  return value;
}

export function texts(message: Fields, key: string): readonly string[] {
  const value = message[key];
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) throw wrong(key);
  return value;
}

export function flag(message: Fields, key: string): boolean {
  const value = message[key];
  if (typeof value !== "boolean") throw wrong(key);
  return value;
}

export function fields(message: Fields, key: string): Fields {
  const value = message[key];
  if (!isFields(value)) throw wrong(key);
  return value;
}

export function nullable<T>(message: Fields, key: string, read: (message: Fields, key: string) => T): T | null {
  return message[key] === null || message[key] === undefined ? null : read(message, key);
}
