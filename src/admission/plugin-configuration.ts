/** The configuration of a plugin in the file of --admission-control-config-file. */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { type FieldError, forbidden, invalid, refTo } from '../schema/refs.ts'
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

/** Where manifests are: a folder that is there. */
export function* validateManifestsDir(staticManifestsDir: string | undefined, gate: (name: string) => boolean): Iterable<FieldError> {
  if (!staticManifestsDir) return
  const at = refTo({ staticManifestsDir }).staticManifestsDir
  if (!gate(GATE)) yield forbidden(at, `staticManifestsDir requires the ${GATE} feature gate to be enabled`)
  else if (!isAbsolute(staticManifestsDir)) yield invalid(at, 'must be an absolute file path')
  else
    try {
      if (!statSync(staticManifestsDir).isDirectory()) yield invalid(at, 'must be a directory')
    } catch (error) {
      yield invalid(at, `unable to read: ${(error as Error).message}`)
    }
}

const GATE = 'ManifestBasedAdmissionControlConfig'
