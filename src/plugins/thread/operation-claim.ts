/**
 * One number that the host and its worker both see, by which they agree whether an operation begins.
 *
 * A message cannot say it: the worker's word that it began may still be on its way when the host gives up.
 */
export type OperationClaim = Int32Array<SharedArrayBuffer>;

const PENDING = 0;
const BEGUN = 1;
const WITHDRAWN = 2;

export function createClaim(): OperationClaim {
  return new Int32Array(new SharedArrayBuffer(4));
}

/** Takes an operation for the worker; whether it may begin, which is never once the host has withdrawn it. */
export function begin(claim: OperationClaim): boolean {
  return Atomics.compareExchange(claim, 0, PENDING, BEGUN) === PENDING;
}

/** Takes an operation back for the host; whether it can never begin any more, which is false once it has. */
export function withdraw(claim: OperationClaim): boolean {
  return Atomics.compareExchange(claim, 0, PENDING, WITHDRAWN) !== BEGUN;
}
