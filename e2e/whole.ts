/**
 * Are the matrices of rights, baits and hostile inputs tried whole? `npm test` takes a part of them, `npm run test:all` whatever there is, and
 * `TEST_MATRICES=whole npm test` all of these beside the other tests as they are.
 */
export const areMatricesWhole = Boolean(process.env.TEST_ALL) || process.env.TEST_MATRICES === "whole";
