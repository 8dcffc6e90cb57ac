import { badRequest } from "@tidings/rpc/fault";

const DEPTH_MAX = 32;
const MEMBERS_MAX = 2_000;
/** In all: a batch of 200 items may have 250 each. More would be parsed for longer than the event loop may be held. */
const VALUES_MAX = 50_000;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Counts depth, members and values of JSON (RFC 8259) in its bytes as they arrive, so that a body with too many of them is
 * refused before it is parsed, or even complete. Whether the bytes are JSON is left to the parser.
 */
export function jsonShape(): { take(chunk: Buffer): void } {
  const members = new Uint32Array(DEPTH_MAX + 1);
  let depth = 0;
  let values = 0;
  let isInText = false;
  let isEscaped = false;

  const open = () => {
    depth += 1;
    if (depth > DEPTH_MAX) throw badRequest(`The body may be nested ${DEPTH_MAX} levels deep.`);
    members[depth] = 0;
    count();
  };
  const count = () => {
    const ofThis = (members[depth] ?? 0) + 1;
    members[depth] = ofThis;
    values += 1;
    if (ofThis > MEMBERS_MAX) throw badRequest(`An object or list may have ${MEMBERS_MAX} members.`);
    if (values > VALUES_MAX) throw badRequest(`A body may have ${VALUES_MAX} values.`);
  };
  return {
    take(chunk) {
      for (let index = 0; index < chunk.length; index += 1) {
        const byte = chunk[index];
        if (isEscaped) isEscaped = false;
        else if (isInText) {
          if (byte === QUOTE) isInText = false;
          else if (byte === BACKSLASH) isEscaped = true;
        } else if (byte === QUOTE) isInText = true;
        else if (byte === COMMA) count();
        else if (byte === OPEN_LIST || byte === OPEN_OBJECT) open();
        else if ((byte === CLOSE_LIST || byte === CLOSE_OBJECT) && depth > 0) depth -= 1;
      }
    },
  };
}
