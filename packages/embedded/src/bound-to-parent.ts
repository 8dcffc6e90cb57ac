const RIGHTS = [
  "--clear-groups",
  "--inh-caps=+dac_override",
  "--ambient-caps=+dac_override",
  // Else access(2), by which initdb looks for its programs, ignores the capability.
  "--securebits=+no_setuid_fixup",
];

/**
 * The command line that makes a program end together with its parent (Linux only) and, for a given user, run without
 * root's rights. The right to pass through any folder is kept: the program may be installed in root's home.
 */
export function boundToParent(command: string[], userId?: number): string[] {
  if (process.platform !== "linux") return command;
  // A change of user forgets the signal, so it comes first.
  const bound = ["setpriv", "--pdeathsig=INT", ...command];
  if (userId === undefined) return bound;
  return ["setpriv", `--reuid=${userId}`, `--regid=${userId}`, ...RIGHTS, ...bound];
}
