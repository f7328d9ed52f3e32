/** `--runtime-config`: which versions and resources of the API are turned on and off, with the rules and errors of kube-apiserver. */

export class RuntimeConfigError extends Error {}

/** Whether resources are turned on, by group, version and plural. */
export interface Enablement {
  isEnabled(group: string, version: string, plural: string): boolean
  /** Whether the version or the resource is turned on by name. */
  isNamed(group: string, version: string, plural: string): boolean
  /** Whether the resource is turned on by name. */
  isResourceNamed(group: string, version: string, plural: string): boolean
  /** Whether the version is turned on by name. */
  isVersionNamed(group: string, version: string): boolean
}

export type RuntimeConfigOptions = {
  readonly groupDomain: string
  /** An emulated release serves, beside each version, the newer stable and beta ones. */
  readonly isForwardCompatible?: boolean
}

/** Reads `api/all=true,apps/v1=false,…`. Throws RuntimeConfigError. */
export function readRuntimeConfig(text: string, { groupDomain, isForwardCompatible = false }: RuntimeConfigOptions): Enablement {
  const given = entriesOf(text)
  const registered = registeredVersions(groupDomain)
  check(given, registered)
  const versions = new Map<string, boolean>()
  for (const [group, names] of registered) for (const name of names) versions.set(`${group}/${name}`, STABLE.test(name))
  for (const [key, matches] of STAGES) {
    const value = given.get(key)
    if (value === undefined) continue
    if (value !== 'true' && value !== 'false') throw new RuntimeConfigError(`invalid value ${key}=${value}`)
    for (const version of versions.keys()) if (matches.test(nameOf(version))) versions.set(version, value === 'true')
  }
  const named = namedIn(given, registered)
  for (const [version, isOn] of named.versions) versions.set(version, isOn)
  if (isForwardCompatible) turnOnNewer(registered, versions, named)
  return {
    isEnabled: (group, version, plural) =>
      named.resources.get(`${group}/${version}/${plural}`) ?? versions.get(`${group}/${version}`) ?? false,
    isNamed: (group, version, plural) =>
      Boolean(named.resources.get(`${group}/${version}/${plural}`) ?? named.versions.get(`${group}/${version}`)),
    isResourceNamed: (group, version, plural) => Boolean(named.resources.get(`${group}/${version}/${plural}`)),
    isVersionNamed: (group, version) => Boolean(named.versions.get(`${group}/${version}`)),
  }
}

/** Groups with all versions that 1.37 knows, newest first; many of them have no resources any more. */
type Registered = ReadonlyMap<string, readonly string[]>

/** Groups under the domain of the server are written without it, with a dot at the end. */
const REGISTERED: readonly string[] = `
  =v1
  admission.=v1 v1beta1
  admissionregistration.=v1 v1beta1 v1alpha1
  apiextensions.=v1 v1beta1
  apiregistration.=v1 v1beta1
  apps=v1 v1beta2 v1beta1
  authentication.=v1 v1beta1 v1alpha1
  authorization.=v1 v1beta1
  autoscaling=v2 v1
  batch=v1 v1beta1
  certificates.=v1 v1beta1 v1alpha1
  coordination.=v1 v1beta1 v1alpha2
  discovery.=v1 v1beta1
  events.=v1 v1beta1
  extensions=v1beta1
  flowcontrol.apiserver.=v1 v1beta3 v1beta2 v1beta1
  imagepolicy.=v1alpha1
  internal.apiserver.=v1alpha1
  lifecycle.=v1alpha1
  networking.=v1 v1beta1
  node.=v1 v1beta1 v1alpha1
  policy=v1 v1beta1
  rbac.authorization.=v1 v1beta1 v1alpha1
  resource.=v1 v1beta2 v1beta1 v1alpha3
  scheduling.=v1 v1beta1 v1alpha3
  storage.=v1 v1beta1 v1alpha1
  storagemigration.=v1 v1beta1
`
  .trim()
  .split(/\n\s*/)

const registeredVersions = (groupDomain: string): Registered =>
  new Map(
    REGISTERED.map(line => {
      const [group = '', versions = ''] = line.split('=')
      return [group.endsWith('.') ? group + groupDomain : group, versions.split(' ')] as const
    }),
  )

const STABLE = /^v\d+$/
const ALPHA = /^v\d+alpha\d+$/
const ALL = 'api/all'
const GA = 'api/ga'
/** The keys that stand for many versions, in the order in which they apply. */
const STAGES = new Map([
  [ALL, /^/],
  [GA, STABLE],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', ALPHA],
])

const nameOf = (version: string) => version.slice(version.lastIndexOf('/') + 1)

function entriesOf(text: string): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  for (const part of text.split(',').filter(each => each !== '')) {
    const [, key = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(part)!.map(each => each.trim())
    if (key === 'api/legacy') continue
    entries.set(/^(api\/)?v1(\/|$)/.test(key) ? '/v1' : key, value)
  }
  return entries
}

/** Refuses configurations under which nothing could be served, keys of a wrong form and unknown groups. */
function check(given: ReadonlyMap<string, string>, registered: Registered): void {
  const problems = [withoutFlowControl(given, registered), withoutGroups(given, registered)].filter(each => each !== undefined)
  if (problems.length > 0) throw new RuntimeConfigError(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`)
}

/** Flow control needs its objects. */
function withoutFlowControl(given: ReadonlyMap<string, string>, registered: Registered): string | undefined {
  const group = [...registered.keys()].find(each => each.startsWith('flowcontrol.'))
  for (const key of [`${group}/v1`, GA, ALL]) {
    const value = given.get(key)
    if (value === 'false') return `--runtime-config=${key}=false conflicts with --enable-priority-and-fairness=true`
    if (value === 'true') return undefined
  }
  return undefined
}

function withoutGroups(given: ReadonlyMap<string, string>, registered: Registered): string | undefined {
  if (given.size === 1 && given.get(ALL) === 'false') return `invalid runtime-config with only ${ALL}=false`
  const unknown = new Set<string>()
  for (const key of given.keys()) {
    if (STAGES.has(key)) continue
    const [group, version, ...rest] = key.split('/')
    if (version === undefined || rest.length > 1) return `runtime-config invalid key ${key}`
    if (!registered.has(group!)) unknown.add(groupVersion(group!, version))
  }
  return unknown.size > 0 ? `unknown api groups ${[...unknown].sort().join(',')}` : undefined
}

const groupVersion = (group: string, version: string) => (group === '' ? version : `${group}/${version}`)

type Named = { readonly versions: ReadonlyMap<string, boolean>; readonly resources: ReadonlyMap<string, boolean> }

/** The versions and resources that are turned on and off by name. */
function namedIn(given: ReadonlyMap<string, string>, registered: Registered): Named {
  const versions = new Map<string, boolean>()
  const resources = new Map<string, boolean>()
  for (const [key, value] of given) {
    if (STAGES.has(key)) continue
    const [group = '', version = '', plural] = key.split('/')
    if (!registered.get(group)?.includes(version))
      throw new RuntimeConfigError(`group version ${groupVersion(group, version)} that has not been registered`)
    const isOn = booleanOf(key, value)
    if (plural === undefined) versions.set(key, isOn)
    else if (plural.toLowerCase() === plural) resources.set(key, isOn)
    else
      throw new RuntimeConfigError(
        `invalid key ${key}: group/version/resource and resource is always lowercase plural, not ${JSON.stringify(plural)}`,
      )
  }
  return { versions, resources }
}

function booleanOf(key: string, value: string): boolean {
  if (value === '' || /^(1|t|T|true|TRUE|True)$/.test(value)) return true
  if (/^(0|f|F|false|FALSE|False)$/.test(value)) return false
  throw new RuntimeConfigError(
    `invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
  )
}

/** Turns on the versions that are newer than one that is on, unless they are named themselves. */
function turnOnNewer(registered: Registered, versions: Map<string, boolean>, named: Named): void {
  for (const [group, names] of registered) {
    const oldest = names.findLastIndex(name => !ALPHA.test(name) && versions.get(`${group}/${name}`))
    for (const name of names.slice(0, Math.max(oldest, 0))) {
      const key = `${group}/${name}`
      versions.set(key, named.versions.get(key) ?? true)
    }
  }
}
