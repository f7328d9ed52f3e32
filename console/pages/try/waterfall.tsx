/** The steps of admission, one below the other: who decided what, when it began and how long it took, and its changes. */
import { useState } from 'preact/hooks'
import { millis } from '../../core/duration.ts'
import { Badge, type Tone } from '../../parts/basics.tsx'
import type { Step } from '../object/review.tsx'
import { type Change, changesIn } from './changes.ts'

const TONES: Readonly<Record<string, Tone>> = {
  mutated: 'violet',
  allowed: 'good',
  unchanged: 'good',
  admitted: 'good',
  skipped: 'plain',
  rejected: 'bad',
  failed: 'bad',
  'failed and ignored': 'warn',
  warned: 'warn',
  audited: 'warn',
}

/** Steps of interest: those that changed or decided something, and every policy and webhook. */
const isQuiet = ({ plugin, outcome }: Step): boolean => plugin !== undefined && (outcome === 'unchanged' || outcome === 'admitted')

export function Waterfall({ steps }: { steps: readonly Step[] }) {
  const [isWhole, setWhole] = useState(false)
  const total = steps.reduce((sum, { ms = '0' }) => sum + Number(ms), 0)
  const quiet = steps.filter(isQuiet)
  let begun = 0
  return (
    <>
      {steps.map((step, i) => {
        const from = begun
        begun += Number(step['ms'] ?? 0)
        return isWhole || !isQuiet(step) ? <StepView key={i} step={step} from={from} total={total} /> : null
      })}
      {quiet.length > 0 && (
        <li class="waterfall-step">
          <button type="button" class="button button-small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Hide' : 'Show'} {quiet.length} plugins without an effect
          </button>
          <span class="grow" />
          <span class="muted small nowrap">{millis(quiet.reduce((sum, { ms = '0' }) => sum + Number(ms), 0))}</span>
        </li>
      )}
    </>
  )
}

function StepView({ step, from, total }: { step: Step; from: number; total: number }) {
  const { outcome = '', because, leftOut, policy, webhook, plugin, binding, configuration, ms, patch, moreChanges } = step
  if (leftOut) return <li class="waterfall-step faint">{leftOut} more steps did not fit.</li>
  const kind = policy ? 'policy' : webhook ? 'webhook' : 'plugin'
  return (
    <li class="waterfall-step" data-skipped={outcome === 'skipped'}>
      <Badge tone={TONES[outcome] ?? 'plain'}>{outcome}</Badge>
      <div class="grow wrap-anywhere">
        <b>{policy ?? webhook ?? plugin}</b>{' '}
        <span class="muted small">
          {kind}
          {binding ? `, binding ${binding}` : ''}
          {configuration ? `, configuration ${configuration}` : ''}
        </span>
        {because && <div class="small">{outcome === 'skipped' ? `does not match: ${because}` : because}</div>}
      </div>
      {ms && (
        <span class="waterfall-time">
          <span class="waterfall-bar" aria-hidden="true">
            <span style={{ marginLeft: `${(100 * from) / (total || 1)}%`, width: `${(100 * Number(ms)) / (total || 1)}%` }} />
          </span>
          <span class="muted small nowrap">{millis(Number(ms))}</span>
        </span>
      )}
      {patch && <Changes changes={changesIn(patch)} more={moreChanges} />}
    </li>
  )
}

const SIGNS = { add: '+', remove: '−', replace: '±' } as const

function Changes({ changes, more }: { changes: readonly Change[]; more: string | undefined }) {
  return (
    <ul class="step-changes" aria-label="Changes">
      {changes.map(({ op, path, value }) => (
        <li key={`${op} ${path}`} data-op={op} class="cut" title={`${path} ${value}`}>
          <code>
            {SIGNS[op]} {path}
            {value === '' ? '' : `: ${value}`}
          </code>
        </li>
      ))}
      {more && <li class="muted">and {more} more</li>}
    </ul>
  )
}
