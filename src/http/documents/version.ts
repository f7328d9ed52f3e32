/** `/version`: the versions of the Kubernetes API and of Keelson. */
import { CURRENT_RELEASE, CURRENT_RELEASES, type Release, type Releases } from '../../schema/lifecycle.ts'
import type { EndpointRule } from '../endpoints.ts'
import { bytesResponse } from '../message.ts'

/** The server's version for clients; they take the numbers for the version of the API. */
export function versionInfo(keelson: string, { emulated, oldest }: Releases = CURRENT_RELEASES): Readonly<Record<string, string>> {
  const numbersOf = (release: Release) => release.split('.') as [major: string, minor: string]
  const [major, minor] = numbersOf(CURRENT_RELEASE)
  const [emulationMajor, emulationMinor] = numbersOf(emulated)
  const [minCompatibilityMajor, minCompatibilityMinor] = numbersOf(oldest)
  return {
    major,
    minor,
    emulationMajor,
    emulationMinor,
    minCompatibilityMajor,
    minCompatibilityMinor,
    gitVersion: `v${CURRENT_RELEASE}.0+keelson-${keelson}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${process.version.slice(1)}`,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  }
}

export function versionEndpoint(keelson: string, releases?: Releases): EndpointRule {
  const body = Buffer.from(JSON.stringify(versionInfo(keelson, releases), null, 2))
  return { path: '/version', strict: true, answer: () => bytesResponse(200, 'application/json', body) }
}
