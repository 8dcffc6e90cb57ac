// JSON the gateway wrote: any shape a client may have sent.
export function parseJson(bytes: Uint8Array) {
  return JSON.parse(Buffer.from(bytes).toString());
}
