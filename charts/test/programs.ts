import { type GoProgram, goProgram } from "@tidings/embedded/go-program";

/** The programs that check the charts: these versions, whatever this machine has. They are built at the first use, which takes minutes. */
const PROGRAMS = {
  helm3: { package: "helm.sh/helm/v3/cmd/helm", version: "v3.21.4", exact: true },
  helm4: { package: "helm.sh/helm/v4/cmd/helm", version: "v4.3.1", exact: true },
  kubeconform: { package: "github.com/yannh/kubeconform/cmd/kubeconform", version: "v0.8.0", exact: true },
} satisfies Record<string, GoProgram>;

export type ProgramName = keyof typeof PROGRAMS;

/** The versions of Helm that the charts are for. */
export const HELMS = ["helm3", "helm4"] as const;
export type Helm = (typeof HELMS)[number];

/** The path of the program. */
export function program(name: ProgramName): Promise<string> {
  return goProgram(PROGRAMS[name]);
}

/** Builds those that are not there, one after the other: each takes all the processors there are. */
export async function prepare(): Promise<void> {
  for (const name of Object.keys(PROGRAMS) as ProgramName[]) await program(name);
}
