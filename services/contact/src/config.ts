import { readConfig, serviceConfig } from "@tidings/runtime/config";

export function contactConfig(env: NodeJS.ProcessEnv) {
  return readConfig(serviceConfig, env);
}
