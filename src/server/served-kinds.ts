/** The kinds and versions that a server serves, as feature gates, `--runtime-config` and the emulated release decide. */

import type { ServerOptions } from '../public.d.ts'
import { byPreference } from '../registry/catalog.ts'
import { eachVersion, type Kind } from '../schema/kind.ts'
import { isBefore, type Lifecycle, type Release, type Releases } from '../schema/lifecycle.ts'
import { type Enablement, RuntimeConfigError, readRuntimeConfig } from './runtime-config.ts'

export type ApiSet = Required<ServerOptions>['api']

export type ServingSettings = {
  readonly groupDomain: string
  /** The built-in kinds that `runtimeConfig` turns on and off. */
  readonly api: ApiSet
  readonly runtimeConfig: string
  readonly releases: Releases
  readonly gate: (name: string) => boolean
  /** An emulated release also serves the newer versions of the resources that it has. */
  readonly emulationForwardCompatible: boolean
  /** An emulated release also serves newer versions that `runtimeConfig` names. */
  readonly runtimeConfigEmulationForwardCompatible: boolean
}

export type KindsOfServer = {
  readonly served: readonly Kind<any>[]
  /** Known, but not served to clients. */
  readonly unserved: readonly Kind<any>[]
}

/** Throws RuntimeConfigError. */
export async function servedKinds(settings: ServingSettings): Promise<KindsOfServer> {
  const { api, runtimeConfig, groupDomain, emulationForwardCompatible: isForwardCompatible, releases } = settings
  const enablement = readRuntimeConfig(runtimeConfig, { groupDomain, isForwardCompatible })
  // Kinds and versions that are off unless configured otherwise are not even loaded.
  const always = versionsOf(await LOADED[api]())
  const others = runtimeConfig === '' ? [] : versionsOf(await kindsBeside(api))
  // A smaller set gets others by name alone, and its components have no use for unserved ones.
  const isAdded = (kind: Kind<any>) =>
    api === 'all' || enablement.isNamed(groupOf(kind, groupDomain), kind.def.version, kind.def.names.plural)
  const known = [...always, ...others.filter(isAdded)]
  const candidates = known.filter(kind => isCandidate(kind, enablement, settings))
  const served = new Set(available(candidates, enablement, settings))
  checkNamedVersions(candidates, served, { enablement, groupDomain, release: releases.emulated })
  return { served: known.filter(kind => served.has(kind)), unserved: always.filter(kind => !served.has(kind)) }
}

/** The kinds of each set, loaded when they are chosen. */
const LOADED: Readonly<Record<ApiSet, () => Promise<readonly Kind<any>[]>>> = {
  none: async () => (await import('../kinds/required.ts')).requiredKinds,
  minimal: async () => (await import('../kinds/minimal.ts')).minimalKinds,
  all: async () => (await import('../kinds/all.ts')).builtinKinds,
}

/** All kinds that a set does not have. */
async function kindsBeside(api: ApiSet): Promise<readonly Kind<any>[]> {
  const [own, all, { kindsOnRequest }] = await Promise.all([LOADED[api](), LOADED.all(), import('../kinds/on-request.ts')])
  return [...all.filter(kind => !own.includes(kind)), ...kindsOnRequest]
}

const versionsOf = (kinds: readonly Kind<any>[]) => kinds.flatMap(kind => [...eachVersion(kind)])

const groupOf = ({ def }: Kind<any>, groupDomain: string) => def.group.replace('{group_domain}', groupDomain)

/** Whether a version is turned on, has its gate, and is not removed in the emulated release. */
function isCandidate(kind: Kind<any>, enablement: Enablement, { groupDomain, gate, releases }: ServingSettings): boolean {
  const { version, names, gate: needed, lifecycle } = kind.def
  if (needed !== undefined && !gate(needed)) return false
  if (lifecycle?.removed !== undefined && !isBefore(releases.emulated, lifecycle.removed)) return false
  return enablement.isEnabled(groupOf(kind, groupDomain), version, names.plural)
}

/** The candidates that the emulated release has, and those newer ones that the settings permit. */
function available(candidates: readonly Kind<any>[], enablement: Enablement, settings: ServingSettings): Kind<any>[] {
  const { groupDomain, releases, emulationForwardCompatible, runtimeConfigEmulationForwardCompatible } = settings
  /** Resources of which an older version is served. */
  const olderServed = new Set<string>()
  return [...candidates]
    .sort((a, b) => byPreference(b.def.version, a.def.version))
    .filter(kind => {
      const group = groupOf(kind, groupDomain)
      const { version, names, lifecycle } = kind.def
      const resource = `${group}/${names.plural}`
      const isThere =
        !isNew(lifecycle, releases.emulated) ||
        (emulationForwardCompatible && olderServed.has(resource)) ||
        (runtimeConfigEmulationForwardCompatible && enablement.isNamed(group, version, names.plural))
      if (!isThere && enablement.isResourceNamed(group, version, names.plural))
        throw new RuntimeConfigError(
          `cannot enable resource ${group}/${version}, Resource=${names.plural} in runtime-config because it is introduced at ${lifecycle!.introduced} after the current version ${releases.emulated}. ${ADVICE}`,
        )
      if (isThere && !version.includes('alpha')) olderServed.add(resource)
      return isThere
    })
}

const isNew = (lifecycle: Lifecycle | undefined, emulated: Release) => lifecycle !== undefined && isBefore(emulated, lifecycle.introduced)
const ADVICE = 'Consider setting --runtime-config-emulation-forward-compatible=true'

type Checking = { readonly enablement: Enablement; readonly groupDomain: string; readonly release: Release }

/** Refuses a version that is turned on by name and has only resources that came later. */
function checkNamedVersions(
  candidates: readonly Kind<any>[],
  served: ReadonlySet<Kind<any>>,
  { enablement, groupDomain, release }: Checking,
): void {
  const pathOf = (kind: Kind<any>) => `${groupOf(kind, groupDomain)}/${kind.def.version}`
  const left = new Set([...served].map(pathOf))
  for (const kind of candidates) {
    if (left.has(pathOf(kind)) || !enablement.isVersionNamed(groupOf(kind, groupDomain), kind.def.version)) continue
    throw new RuntimeConfigError(
      `cannot enable version ${pathOf(kind)} in runtime-config because all the resources have been introduced after the current version ${release}. ${ADVICE}`,
    )
  }
}
