/** LeaseCandidate offers a component as the holder of a lease: of all candidates, one of the oldest version is chosen. */
import { isConfigMapKey } from '../../lib/names.ts'
import { compareSemver, parseSemver, type Semver } from '../../lib/semver.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, type Ref, required } from '../../schema/refs.ts'
import { message, microTime, type Static, string } from '../../schema/types.ts'
import { OLDEST_VERSION, validateStrategy } from './strategy.ts'

const LeaseCandidateSpec = message('LeaseCandidateSpec', {
  leaseName: [1, string.always(), 'The lease that the candidate wants to hold.'],
  pingTime: [2, microTime.optional(), 'When the candidate was last asked whether it is still there.'],
  renewTime: [3, microTime.optional(), 'When the candidate last answered.'],
  binaryVersion: [4, string.always(), 'The semantic version of the component.'],
  emulationVersion: [5, string, 'The semantic version that the component emulates.'],
  strategy: [6, string.always().openapiDefault(), 'How the holder is chosen among the candidates.'],
})
type LeaseCandidateSpec = Static<typeof LeaseCandidateSpec>

export const LeaseCandidate = defineKind({
  group: 'coordination.{group_domain}',
  version: 'v1beta1',
  kind: 'LeaseCandidate',
  scope: 'Namespaced',
  names: { plural: 'leasecandidates' },
  doc: 'A component that wants to hold a lease.',
  lifecycle: { introduced: '1.33', deprecated: '1.36', removed: '1.39' },
  otherVersions: {
    v1alpha2: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
  },
  storedAs: { version: 'v1beta1' },
  name: isConfigMapKey,
  spec: LeaseCandidateSpec.expected(),
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,

  *validate({ spec }, { spec: at }) {
    yield* validateSpec(spec, at)
  },
  *validateUpdate({ spec }, old, { spec: at }) {
    if (spec.leaseName !== old.spec.leaseName) yield invalid(at.leaseName, 'field is immutable')
  },

  columns: {
    LeaseName: [
      'string',
      o => o.spec.leaseName,
      'LeaseName is the name of the lease for which this candidate is contending. The limits on this field are the same as on Lease.name. Multiple lease candidates may reference the same Lease.name. This field is immutable.',
    ],
    BinaryVersion: ['string', o => o.spec.binaryVersion, ''],
    EmulationVersion: ['string', o => o.spec.emulationVersion ?? '', ''],
    Age: age,
  },
})

/** An object of the kind LeaseCandidate. */
export type LeaseCandidate = ObjectOf<typeof LeaseCandidate>

function* validateSpec(spec: LeaseCandidateSpec, at: Ref<LeaseCandidateSpec>): Iterable<FieldError> {
  const { leaseName, binaryVersion, emulationVersion = '', strategy } = spec
  if (leaseName === '') yield required(at.leaseName, '')
  const emulated = versionIn(emulationVersion)
  if (emulationVersion !== '' && !emulated) yield invalid(at.emulationVersion, NO_VERSION)
  const binary = versionIn(binaryVersion)
  if (binaryVersion === '') yield required(at.binaryVersion, '')
  else if (!binary) yield invalid(at.binaryVersion, NO_VERSION)
  if (binaryVersion !== '' && emulationVersion !== '' && compareSemver(binary ?? NONE, emulated ?? NONE) < 0)
    yield invalid(at.binaryVersion, 'must be greater than or equal to `emulationVersion`')
  if (strategy === '') yield required(at.strategy, '')
  else {
    if (strategy === OLDEST_VERSION && compareSemver(emulated ?? NONE, NONE) === 0)
      yield required(at.emulationVersion, `must be specified when \`strategy\` is '${OLDEST_VERSION}'`)
    yield* validateStrategy(strategy, at.strategy)
  }
}

const NO_VERSION = 'must be a valid semantic version'
const NONE = parseSemver('0.0.0')

function versionIn(text: string): Semver | undefined {
  try {
    return parseSemver(text)
  } catch {
    return undefined
  }
}
