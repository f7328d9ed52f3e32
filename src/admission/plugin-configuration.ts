/** What the file of --admission-control-config-file can say to a plugin. */
import { type FieldError, forbidden, refTo } from '../schema/refs.ts'
import type { AnyType, Static } from '../schema/types.ts'

export type PluginConfiguration<T extends AnyType, S> = {
  readonly plugin: string
  /** The kinds by their apiVersion, with the placeholder of the group's domain; undefined where fields stand for themselves. */
  readonly accepts?: Readonly<Record<string, string>>
  readonly type: T
  readonly validate?: (configuration: Static<T>) => Iterable<FieldError>
  /** What the plugin is told. */
  readonly settings: (configuration: Static<T>) => S
}

export const pluginConfiguration = <T extends AnyType, S>(configuration: PluginConfiguration<T, S>): PluginConfiguration<T, S> =>
  configuration

/** Manifests are configurations that no client can change or remove; asking for them in vain would leave requests unchecked. */
export function* noManifests(staticManifestsDir: string | undefined): Iterable<FieldError> {
  if (staticManifestsDir)
    yield forbidden(
      refTo({ staticManifestsDir }).staticManifestsDir,
      'this version does not read admission configurations from manifests; create them with a client',
    )
}
