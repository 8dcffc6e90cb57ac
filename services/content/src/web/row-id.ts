const ID = /^[1-9]\d{0,9}$/;
const ID_MAX = 2 ** 31 - 1;

/** The id that a text in a path or token names; undefined for a text that is none of any row. */
export function rowIdOf(text = ""): number | undefined {
  return ID.test(text) && Number(text) <= ID_MAX ? Number(text) : undefined;
}
