import { neighbours, port, readConfig, serviceConfig } from "@tidings/runtime/config";

/** Every variable the content service reads. */
export const contentVariables = {
  ...serviceConfig,
  ...neighbours("contact"),
  /** Where the public web is served to the gateway. */
  WEB_PORT: port.default(8081),
};

export function contentConfig(env: NodeJS.ProcessEnv) {
  return readConfig(contentVariables, env);
}

export type ContentConfig = ReturnType<typeof contentConfig>;
