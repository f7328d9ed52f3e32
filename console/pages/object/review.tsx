/** Review before a save: the difference that the server would store, the changes of admission marked, and conflicts field by field. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ApiError, type Cause, send } from '../../core/api.ts'
import type { KubeObject } from '../../core/object.ts'
import { ownerAt, ownersOf } from '../../core/owners.ts'
import { forPeople, pathText, scalarText, valueAt } from '../../core/yaml-lines.ts'
import { Badge, Causes, Notice, Segments, Spinner } from '../../parts/basics.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Diff, type DiffRow } from '../../parts/diff.tsx'
import { warningsOf } from '../../parts/editor/validation.ts'
import { asApply, asUpdate, type Change, collisions, rebase } from './edit.ts'

export const FIELD_MANAGER = 'keelson-console'

export type Step = Readonly<Record<string, string>>

type ReviewProps = {
  readonly title: string
  /** The path of the object, or of the collection for a creation. */
  readonly path: string
  readonly draft: any
  /** The object when the draft was begun, and now; neither for a creation. */
  readonly base?: KubeObject | undefined
  readonly live?: KubeObject | undefined
  onClose(): void
  onSaved(object: KubeObject): void
}

type Mode = 'update' | 'apply'
/** How the draft is sent; `isForced` takes over the fields of other managers. */
type Way = { readonly mode: Mode; readonly isForced: boolean }
type Answer = { readonly result: KubeObject; readonly warnings: readonly string[]; readonly steps: readonly Step[] }

export function Review({ title, path, draft, base, live, onClose, onSaved }: ReviewProps) {
  const [way, setWay] = useState<Way>({ mode: 'update', isForced: false })
  const { mode, isForced } = way
  const clashes = useMemo(() => (base && live && mode === 'update' ? collisions(base, draft, live) : []), [base, draft, live, mode])
  const { answer, error, isBusy, save } = useSaving({ path, draft, base, live, way, onSaved })
  return (
    <Dialog
      title={title}
      className="dialog-wide"
      onClose={onClose}
      foot={
        <>
          {live && (
            <div class="grow">
              <Segments<Mode>
                label="How to save"
                value={mode}
                options={[
                  ['update', 'Update'],
                  ['apply', 'Apply'],
                ]}
                onChange={next => setWay({ mode: next, isForced: false })}
              />
            </div>
          )}
          <button type="button" class="button" onClick={onClose}>
            Go on editing
          </button>
          <button type="button" class="button button-primary" disabled={isBusy || !answer} onClick={() => void save()}>
            {live ? (isForced ? 'Apply and take over' : mode === 'apply' ? 'Apply' : 'Save') : 'Create'}
          </button>
        </>
      }
    >
      <div class="stack">
        {live && (
          <p class="muted small">
            {mode === 'update'
              ? 'Update replaces the object with this draft. Changes that others made to other fields since are kept.'
              : `Apply makes the fields of this draft those of the manager ${FIELD_MANAGER}; a field that another manager owns is a conflict.`}
          </p>
        )}
        {clashes.length > 0 && live && <Clashes clashes={clashes} live={live} />}
        {error !== undefined && <Failure error={error} draft={draft} live={live} onForce={() => setWay({ ...way, isForced: true })} />}
        {answer ? <Outcome answer={answer} draft={draft} live={live} /> : isBusy && <Spinner label="Asking the server" />}
      </div>
    </Dialog>
  )
}

type Saving = Pick<ReviewProps, 'path' | 'draft' | 'base' | 'live' | 'onSaved'> & { readonly way: Way }

/** Sends the draft: at once as a dry run, whenever the object or the way changes, and in earnest with `save`. */
function useSaving({ onSaved, ...sending }: Saving) {
  const { live, way } = sending
  const [answer, setAnswer] = useState<Answer | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setBusy] = useState(true)
  useEffect(() => {
    let isCurrent = true
    const settle = (found: Answer | undefined, failure: unknown) => {
      if (!isCurrent) return
      setAnswer(found)
      setError(failure)
      setBusy(false)
    }
    setBusy(true)
    setError(undefined)
    sendDraft(sending, true)
      .then(answerOf)
      .then(
        found => settle(found, undefined),
        failure => settle(undefined, failure),
      )
    return () => {
      isCurrent = false
    }
  }, [way.mode, way.isForced, live?.metadata.resourceVersion])
  const save = async () => {
    setBusy(true)
    try {
      const response = await sendDraft(sending, false)
      onSaved((await response.json()) as KubeObject)
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return { answer, error, isBusy, save }
}

function sendDraft({ path, draft, base, live, way: { mode, isForced } }: Omit<Saving, 'onSaved'>, isDry: boolean): Promise<Response> {
  const query = `fieldManager=${FIELD_MANAGER}&fieldValidation=Strict${isDry ? '&dryRun=All' : ''}`
  const headers = { 'Keelson-Explain': 'admission' }
  if (!live) return send(`${path}?${query}`, { method: 'POST', body: draft, headers })
  if (mode === 'apply')
    return send(`${path}?${query}${isForced ? '&force=true' : ''}`, {
      method: 'PATCH',
      body: JSON.stringify(asApply(draft)),
      type: 'application/apply-patch+yaml',
      headers,
    })
  return send(`${path}?${query}`, { method: 'PUT', body: asUpdate(base ? rebase(base, draft, live) : draft, live), headers })
}

const answerOf = async (response: Response): Promise<Answer> => ({
  result: (await response.json()) as KubeObject,
  warnings: warningsOf(response.headers),
  steps: stepsOf(response.headers),
})

type Drafted = { readonly draft: any; readonly live: KubeObject | undefined }

/** The difference that the server would store, and the plugins, policies and webhooks behind it. */
function Outcome({ answer: { result, warnings, steps }, draft, live }: Drafted & { readonly answer: Answer }) {
  const stored = forDiff(result)
  const changers = steps.filter(({ outcome }) => outcome === 'mutated')
  return (
    <>
      {warnings.map(text => (
        <Notice tone="warn" key={text}>
          {text}
        </Notice>
      ))}
      {changers.length > 0 && (
        <p class="row row-wrap small">
          <span class="muted">Changed by</span>
          {changers.map((step, i) => (
            <Badge tone="violet" key={i}>
              {step['plugin'] ?? step['webhook'] ?? step['policy']}
            </Badge>
          ))}
        </p>
      )}
      <Diff label="Changes" before={live && forDiff(live)} after={stored} note={row => originOf(row, draft, stored)} />
    </>
  )
}

/** Which changes the draft does not make by itself. */
function originOf({ sign, path }: DiffRow, draft: any, stored: any): string | undefined {
  const [wanted, given] = [valueAt(draft, path), valueAt(stored, path)]
  if (sign !== '+') return given === undefined && wanted !== undefined ? 'removed by admission' : undefined
  if (JSON.stringify(wanted) === JSON.stringify(given)) return undefined
  return path[0] === 'metadata' && path.length < 3 ? 'by the server' : 'by admission or a default'
}

function Failure({ error, draft, live, onForce }: Drafted & { readonly error: unknown; onForce(): void }) {
  const conflicts =
    error instanceof ApiError && error.code === 409 ? error.causes.filter(({ reason }) => reason === 'FieldManagerConflict') : []
  if (conflicts.length > 0) return <Conflicts causes={conflicts} draft={draft} live={live} onForce={onForce} />
  return (
    <Notice tone="bad" title={`The server refuses ${draft?.metadata?.name ?? 'this'}`}>
      <Causes error={error} />
      {error instanceof ApiError && <Refusals steps={stepsOf(error.headers)} />}
    </Notice>
  )
}

/** Without fields that every write changes. */
function forDiff(object: KubeObject): any {
  const { metadata, ...rest } = forPeople(object, { isStable: true })
  const { generation: _, uid: __, creationTimestamp: ___, ...shown } = metadata
  return { ...rest, metadata: shown }
}

/** The steps of admission, where the user may see them. */
export function stepsOf(headers: Headers | undefined): Step[] {
  try {
    const steps = JSON.parse(headers?.get('Keelson-Explain') ?? '[]') as Step[]
    return Array.isArray(steps) ? steps.filter(step => step['error'] === undefined) : []
  } catch {
    return []
  }
}

/** Which plugin, policy or webhook refuses. */
function Refusals({ steps }: { steps: readonly Step[] }) {
  const refusing = steps.filter(({ outcome }) => outcome === 'rejected' || outcome === 'failed')
  if (refusing.length === 0) return null
  return (
    <ul>
      {refusing.map((step, i) => (
        <li key={i}>
          Refused by{' '}
          <b>{step['policy'] ? `policy ${step['policy']}` : step['webhook'] ? `webhook ${step['webhook']}` : `plugin ${step['plugin']}`}</b>
          {step['binding'] ? ` (binding ${step['binding']})` : ''}
        </li>
      ))}
    </ul>
  )
}

const shortValue = (value: unknown): string => {
  if (value === undefined) return 'not set'
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : scalarText(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function Clashes({ clashes, live }: { clashes: readonly Change[]; live: KubeObject }) {
  const owners = ownersOf(live)
  return (
    <Notice tone="warn" title="Somebody changed the same fields since you began">
      <table class="table plain-table">
        <thead>
          <tr>
            <th>Field</th>
            <th>Now</th>
            <th>Yours</th>
            <th>Changed by</th>
          </tr>
        </thead>
        <tbody>
          {clashes.map(({ path, after }) => (
            <tr key={pathText(path)}>
              <td>
                <code>{pathText(path)}</code>
              </td>
              <td>
                <code>{shortValue(valueAt(live, path))}</code>
              </td>
              <td>
                <code>{shortValue(after)}</code>
              </td>
              <td>{ownerAt(owners, path)?.manager ?? 'unknown'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>Saving replaces their values with yours.</p>
    </Notice>
  )
}

function Conflicts({
  causes,
  draft,
  live,
  onForce,
}: {
  causes: readonly Cause[]
  draft: any
  live: KubeObject | undefined
  onForce(): void
}) {
  return (
    <Notice tone="warn" title={causes.length === 1 ? 'Another manager owns a field' : `Other managers own ${causes.length} fields`}>
      <table class="table plain-table">
        <thead>
          <tr>
            <th>Field</th>
            <th>Owned by</th>
            <th>Now</th>
            <th>Yours</th>
          </tr>
        </thead>
        <tbody>
          {causes.map(({ field = '', message = '' }) => {
            const path = pathOfField(field)
            return (
              <tr key={field + message}>
                <td>
                  <code>{field.replace(/^\./, '')}</code>
                </td>
                <td>{/conflict with "([^"]+)"/.exec(message)?.[1] ?? message}</td>
                <td>
                  <code>{shortValue(live && valueAt(live, path))}</code>
                </td>
                <td>
                  <code>{shortValue(valueAt(draft, path))}</code>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      <button type="button" class="button" onClick={onForce}>
        Take over {causes.length === 1 ? 'this field' : 'these fields'}
      </button>
    </Notice>
  )
}

/** `.spec.template.spec.containers[name="web"].image` as the path of a line. */
export function pathOfField(field: string): string[] {
  return [...field.matchAll(/\.?([^.[\]]+)|\[([^\]]*)\]/g)].map(([, name, item]) =>
    name !== undefined ? name : `[${item!.replaceAll('"', '')}]`,
  )
}
