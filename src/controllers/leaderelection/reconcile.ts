/** Decides who should hold a lease, among those that offer themselves as candidates and answer when they are asked. */
import { OLDEST_VERSION } from '../../kinds/coordination/strategy.ts'
import { compareSemver, parseSemverLeniently, type Semver } from '../../lib/semver.ts'
import { millisecondsAt } from '../../lib/time.ts'

/** How long a candidate has time to answer, and for how long its answer counts. */
const ELECTION_MS = 5_000
/** How long a candidate counts as one without an answer. */
const CANDIDATE_VALID_MS = 30 * 60_000

export type Candidate = {
  readonly metadata: { readonly name?: string; readonly creationTimestamp?: string | null }
  readonly spec: {
    readonly pingTime?: string
    readonly renewTime?: string
    readonly binaryVersion: string
    readonly emulationVersion?: string
    readonly strategy: string
  }
}
export type LeaseState = {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly renewTime?: string
  readonly strategy?: string
}

export type Decision<C extends Candidate> =
  | { readonly type: 'nothing' }
  | { readonly type: 'look again' }
  | { readonly type: 'ping'; readonly candidates: readonly C[] }
  /** Candidates of one version that want different strategies cannot be served. */
  | { readonly type: 'disagreement'; readonly message: string }
  | { readonly type: 'elect'; readonly strategy: string; readonly holder: string | undefined }

type Situation<C extends Candidate> = { readonly candidates: readonly C[]; readonly lease: LeaseState | undefined; readonly now: number }

/** The next step of an election. */
export function nextStep<C extends Candidate>({ candidates, lease, now }: Situation<C>): Decision<C> {
  if (candidates.length === 0) return { type: 'nothing' }
  const need = electionNeed({ candidates, lease, now })
  if (need !== true) return need === false ? { type: 'look again' } : need
  const silent = candidates.filter(({ spec }) => isAsked(spec, now))
  const unasked = candidates.filter(({ spec }) => !isAsked(spec, now) && mustBeAsked(spec, now))
  if (unasked.length > 0) return { type: 'ping', candidates: unasked }
  if (silent.length > 0) return { type: 'look again' }
  const answered = candidates.filter(({ spec }) => millisecondsAt(spec.renewTime) + ELECTION_MS > now)
  if (answered.length === 0) return { type: 'nothing' }
  const strategy = strategyOf(answered)
  if (typeof strategy !== 'string') return strategy
  return { type: 'elect', strategy, holder: strategy === OLDEST_VERSION ? oldestOf(answered)?.metadata.name : undefined }
}

/** Whether there is no leader, a candidate has been quiet for long, or another candidate would be better. */
function electionNeed<C extends Candidate>({ candidates, lease, now }: Situation<C>): boolean | (Decision<C> & { type: 'disagreement' }) {
  if (!lease || isExpired(lease, now) || !lease.holderIdentity) return true
  if (candidates.some(({ spec }) => millisecondsAt(spec.renewTime) + CANDIDATE_VALID_MS / 2 < now)) return true
  const strategy = strategyOf(candidates)
  if (typeof strategy !== 'string') return strategy
  if (strategy !== OLDEST_VERSION) return false
  const best = oldestOf(candidates)
  return best !== undefined && best.metadata.name !== lease.holderIdentity
}

/** It has been asked, has not answered, and still has time. */
const isAsked = ({ pingTime, renewTime }: Candidate['spec'], now: number): boolean =>
  pingTime !== undefined && millisecondsAt(pingTime) + ELECTION_MS > now && isBefore(renewTime, pingTime)

const mustBeAsked = ({ pingTime, renewTime }: Candidate['spec'], now: number): boolean => {
  if (millisecondsAt(renewTime) + ELECTION_MS > now) return false
  return pingTime === undefined || (millisecondsAt(pingTime) + ELECTION_MS < now && !isBefore(renewTime, pingTime))
}

/** Times have a fixed width. */
const isBefore = (time: string | undefined, other: string): boolean => time !== undefined && time < other

/** Whether it has not been renewed for as long as it lasts. */
export const isExpired = ({ renewTime, leaseDurationSeconds }: LeaseState, now: number): boolean =>
  renewTime === undefined || leaseDurationSeconds === undefined || millisecondsAt(renewTime) + leaseDurationSeconds * 1000 < now

/** Whether a candidate has not been heard of for so long that it counts as gone. */
export const isGone = ({ spec: { renewTime } }: Candidate, now: number): boolean =>
  renewTime === undefined || millisecondsAt(renewTime) + CANDIDATE_VALID_MS < now

/** The strategy that the candidates of the newest version want. */
function strategyOf(candidates: readonly Candidate[]): string | { type: 'disagreement'; message: string } {
  let [newest] = candidates as readonly [Candidate]
  for (const candidate of candidates.slice(1)) {
    const order = compareSemver(versionIn(newest.spec.binaryVersion) ?? ZERO, versionIn(candidate.spec.binaryVersion) ?? ZERO)
    if (order < 0) newest = candidate
    else if (order === 0 && candidate.spec.strategy !== newest.spec.strategy) {
      const names = `"${newest.metadata.name}", "${candidate.metadata.name}"`
      const strategies = `${newest.spec.strategy}, ${candidate.spec.strategy}`
      return { type: 'disagreement', message: `candidates ${names} at same binary version but received differing strategies ${strategies}` }
    }
  }
  return newest.spec.strategy
}

/** The candidate of the oldest emulated version, then of the oldest version, then the first. */
function oldestOf<C extends Candidate>(candidates: readonly C[]): C | undefined {
  return candidates
    .filter(({ spec }) => versionIn(spec.emulationVersion ?? '') && versionIn(spec.binaryVersion))
    .reduce<C | undefined>((best, candidate) => (best === undefined || isOlder(candidate, best) ? candidate : best), undefined)
}

function isOlder(a: Candidate, b: Candidate): boolean {
  const order =
    compareSemver(versionIn(a.spec.emulationVersion!)!, versionIn(b.spec.emulationVersion!)!) ||
    compareSemver(versionIn(a.spec.binaryVersion)!, versionIn(b.spec.binaryVersion)!)
  return order !== 0 ? order < 0 : millisecondsAt(a.metadata.creationTimestamp) < millisecondsAt(b.metadata.creationTimestamp)
}

const ZERO = parseSemverLeniently('0')

function versionIn(text: string): Semver | undefined {
  try {
    return parseSemverLeniently(text)
  } catch {
    return undefined
  }
}
