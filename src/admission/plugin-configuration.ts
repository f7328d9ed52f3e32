/** The configuration of a plugin in the file of --admission-control-config-file. */
import type { FieldError } from '../schema/refs.ts'
import type { AnyType, Static } from '../schema/types.ts'

export type PluginConfiguration<T extends AnyType, S> = {
  readonly plugin: string
  /** The kinds by their apiVersion, with the placeholder of the group's domain; undefined where fields stand for themselves. */
  readonly accepts?: Readonly<Record<string, string>>
  readonly type: T
  readonly validate?: (configuration: Static<T>, gate: (name: string) => boolean) => Iterable<FieldError>
  /** The settings of the plugin. */
  readonly settings: (configuration: Static<T>) => S
}

export const pluginConfiguration = <T extends AnyType, S>(configuration: PluginConfiguration<T, S>): PluginConfiguration<T, S> =>
  configuration
