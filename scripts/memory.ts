/** V8 collects the old generation when it is 1.5 times what the last collection left: 4 times by itself on a large machine, 1.3 in a small container. */
const GROWTH = "--heap-growing-percent=50";

/** Memory that is given back: a young generation of 12 MB and two arenas keep a third less resident under load (ADR 37). */
export const MEMORY = { execArgv: ["--max-semi-space-size=4", GROWTH], env: { MALLOC_ARENA_MAX: "2" } };

/** A process that sends writes mail after mail: in a young generation of 48 MB fewer of their parts outlive a collection. */
export const SENDER_EXEC_ARGV = ["--max-semi-space-size=16", GROWTH];
/** How the image of content is run where it only sends. */
export const SENDER_COMMAND = ["node", ...SENDER_EXEC_ARGV, "/app/main.js"];
