/** `PointGroup` as `point_group`: a name of Protocol Buffers as one of SQL and of subjects. */
export function snakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, "_$&").toLowerCase();
}
