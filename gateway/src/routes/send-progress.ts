/** Is it not decided yet what became of a send? Then it goes on. */
export function isOpenSend({ state }: { state: string }): boolean {
  return state === "waiting" || state === "started";
}
