/** How long stopping a process may take, unless it says otherwise. */
export const STOP_LIMIT_MS = 30_000;
