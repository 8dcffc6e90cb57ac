/**
 * Loaded into each process of the test runner: ends a test file that hangs, for which the runner has no limit. After a test failed, an
 * open worker would otherwise keep its file, and so the whole run, for ever.
 */
const FILE_TIME_LIMIT_MS = 600_000;

// The runner itself loads this module too, and lives as long as all files.
if (process.env.NODE_TEST_CONTEXT)
  setTimeout(() => {
    console.error(`${process.argv[1]} was ended after ${FILE_TIME_LIMIT_MS / 60_000} minutes`);
    process.exit(1);
  }, FILE_TIME_LIMIT_MS).unref();

export {};
