import { readConfig, serviceConfig } from "@tidings/runtime/config";

/** Every variable the reporting service reads. */
export const reportingVariables = { ...serviceConfig };

export function reportingConfig(env: NodeJS.ProcessEnv) {
  return readConfig(reportingVariables, env);
}

export type ReportingConfig = ReturnType<typeof reportingConfig>;
