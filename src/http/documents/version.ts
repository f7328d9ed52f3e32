/** `/version`: the versions of the Kubernetes API and of Keelson. */
import type { EndpointRule } from '../endpoints.ts'
import { bytesResponse } from '../message.ts'

const MAJOR = '1'
const MINOR = '37'

/** The server's version for clients; they take the numbers for the version of the API. */
export function versionInfo(keelson: string): Readonly<Record<string, string>> {
  return {
    major: MAJOR,
    minor: MINOR,
    emulationMajor: MAJOR,
    emulationMinor: MINOR,
    minCompatibilityMajor: MAJOR,
    minCompatibilityMinor: String(Number(MINOR) - 1),
    gitVersion: `v${MAJOR}.${MINOR}.0+keelson-${keelson}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${process.version.slice(1)}`,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  }
}

export function versionEndpoint(keelson: string): EndpointRule {
  const body = Buffer.from(JSON.stringify(versionInfo(keelson), null, 2))
  return { path: '/version', strict: true, answer: () => bytesResponse(200, 'application/json', body) }
}
