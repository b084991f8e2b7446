/** The other side does not speak RFB as RFC 6143 has it, or goes beyond what is held for it. */
export class RfbViolation extends Error {
  override readonly name = "RfbViolation";
}
