/** `--emulated-version` and `--min-compatibility-version`: the releases of Kubernetes that a server follows. */
import { CURRENT_RELEASE, CURRENT_RELEASES, isBefore, minorOf, type Release, type Releases } from '../schema/lifecycle.ts'

export class ReleaseError extends Error {}

/** The oldest release that can be emulated, or whose records can be written. */
const OLDEST: Release = '1.34'

export type ReleaseSettings = {
  readonly emulatedVersion: string
  readonly minCompatibilityVersion: string
  readonly emulationForwardCompatible: boolean
  readonly runtimeConfigEmulationForwardCompatible: boolean
}

/** Reads both settings, with the errors of kube-apiserver. Throws ReleaseError. */
export function readReleases(settings: ReleaseSettings): Releases {
  const { emulatedVersion, minCompatibilityVersion } = settings
  const chosen = releaseIn(emulatedVersion)
  const emulated = chosen ?? CURRENT_RELEASE
  const before: Release = `1.${minorOf(emulated) - 1}`
  const usual = chosen === undefined ? CURRENT_RELEASES.oldest : isBefore(before, OLDEST) ? OLDEST : before
  const oldest = releaseIn(minCompatibilityVersion) ?? usual
  const problems: string[] = []
  const isBetween = (release: Release, to: Release) => !isBefore(release, OLDEST) && !isBefore(to, release)
  if (!isBetween(emulated, CURRENT_RELEASE)) problems.push(`emulation version ${emulated} is not between [${OLDEST}, ${CURRENT_RELEASE}.0]`)
  if (!isBetween(oldest, emulated)) problems.push(`minCompatibilityVersion version ${oldest} is not between [${OLDEST}, ${emulated}]`)
  if (emulated === CURRENT_RELEASE)
    for (const name of ['emulationForwardCompatible', 'runtimeConfigEmulationForwardCompatible'] as const)
      if (settings[name])
        problems.push(
          `ServerRunOptions.${name[0]!.toUpperCase()}${name.slice(1)} cannot be set to true if the emulation version is the same as the binary version`,
        )
  if (problems.length > 0) throw new ReleaseError(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`)
  return { emulated, oldest }
}

/** The release in `1.36` or `kube=1.36`; undefined if nothing is there. */
function releaseIn(text: string): Release | undefined {
  let found: Release | undefined
  for (const part of text.split(',').filter(each => each !== '')) {
    const [, component = 'kube', version = ''] = /^(?:([^=]*)=)?(.*)$/s.exec(part)!.map(each => each?.trim())
    const [, major, minor, patch = '0'] = /^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+.].*)?$/.exec(version) ?? []
    if (minor === undefined)
      throw new ReleaseError(
        /^v?\d+(\.|$)/.test(version)
          ? `illegal version string ${JSON.stringify(version)}`
          : `could not parse ${JSON.stringify(version)} as version`,
      )
    if (Number(patch) !== 0) throw new ReleaseError(`patch version not allowed, got: ${component}=${version}`)
    if (component !== 'kube') throw new ReleaseError(`component not registered: ${component}`)
    const release = `${Number(major)}.${Number(minor)}` as Release
    if (found !== undefined) throw new ReleaseError(`duplicate version flag, kube=${found} and kube=${release}`)
    found = release
  }
  return found
}
