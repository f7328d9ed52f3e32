/** The YAML of an object: completion and documentation from its schema, checks by dry runs while typing, review, save. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { type Kind, objectPath } from '../../core/discovery.ts'
import type { KubeObject } from '../../core/object.ts'
import { loadSchema } from '../../core/openapi.ts'
import { guardLeaving } from '../../core/router.ts'
import { toast } from '../../core/toasts.ts'
import { yamlText } from '../../core/yaml-lines.ts'
import { Notice, useAsync } from '../../parts/basics.tsx'
import { confirm } from '../../parts/dialog.tsx'
import { EditorLoading, useEditor } from '../../parts/editor/lazy.tsx'
import { checker, marksOf } from '../../parts/editor/validation.ts'
import { Icon } from '../../parts/icons.tsx'
import { asUpdate, editable, rebase } from './edit.ts'
import { Review } from './review.tsx'
import { Verdicts } from './verdicts.tsx'

export function YamlTab({ kind, object, draftOf }: { kind: Kind; object: KubeObject; draftOf?: KubeObject | undefined }) {
  const editor = useEditor()
  const { value: schema } = useAsync(() => loadSchema(kind), [kind])
  const { namespace, name } = object.metadata
  const [base, setBase] = useState(() => editable(kind, object))
  const [source, setSource] = useState(() => ({ text: yamlText(draftOf ? editable(kind, draftOf) : editable(kind, object)) }))
  const [text, setText] = useState(source.text)
  const [isReviewing, setReviewing] = useState(false)
  const check = useMemo(checker, [])
  const mayUpdate = kind.verbs.includes('update') && may({ verb: 'update', kind, namespace, name }).value
  const clean = yamlText(base)
  const isChanged = text !== clean
  const live = editable(kind, object)
  const liveText = yamlText(live)

  const show = (shown: KubeObject) => {
    const next = { text: yamlText(shown) }
    setBase(shown)
    setSource(next)
    setText(next.text)
  }
  const reset = () => show(live)
  // Without a draft, the editor follows the object.
  useEffect(() => {
    if (isChanged || liveText === clean) return
    reset()
  }, [liveText])
  useEffect(() => {
    if (!isChanged) return
    return guardLeaving(() =>
      confirm({ title: 'Leave without saving?', body: <p>The draft of {name} is lost.</p>, action: 'Leave', isDangerous: true }),
    )
  }, [isChanged, name])
  const parsed = useMemo(() => editor?.parseYaml(text), [editor, text])
  useEffect(() => {
    if (!parsed || !isChanged || parsed.problems.length > 0 || !mayUpdate) check.check(undefined)
    else check.check({ path: objectPath(kind, namespace, name), method: 'PUT', body: asUpdate(rebase(base, parsed.value, object), object) })
  }, [parsed, mayUpdate])
  useEffect(() => check.stop, [])

  const verdict = check.verdict.value
  const marks = useMemo(() => {
    if (!parsed || !editor || !isChanged) return []
    if (parsed.problems.length > 0) return parsed.problems
    return verdict.state === 'invalid' ? marksOf(parsed, verdict.causes, editor.spanOf) : []
  }, [parsed, verdict, editor])
  const canReview = isChanged && mayUpdate && parsed !== undefined && parsed.problems.length === 0
  return (
    <div class="stack">
      {isChanged && liveText !== clean && (
        <Notice tone="info" title="The object has changed since you began">
          Your changes are put on top of the present object when you save.{' '}
          <button type="button" class="button button-small" onClick={reset}>
            Discard mine, show theirs
          </button>
        </Notice>
      )}
      <div class="editor-bar">
        <Verdicts verdict={isChanged ? verdict : { state: 'idle' }} problems={isChanged ? (parsed?.problems ?? []) : []} text={text} />
        <div class="row">
          {isChanged && (
            <button type="button" class="button button-plain" onClick={reset}>
              <Icon name="undo" /> Discard
            </button>
          )}
          {mayUpdate ? (
            <button type="button" class="button button-primary" disabled={!canReview} onClick={() => setReviewing(true)}>
              Review changes
            </button>
          ) : (
            <span class="badge">
              <Icon name="lock" size={12} /> Read only
            </span>
          )}
        </div>
      </div>
      {editor ? (
        <div class="editor-box">
          <editor.CodeEditor
            label={`YAML of ${name}`}
            source={source}
            schema={schema}
            marks={marks}
            isReadOnly={!mayUpdate}
            onChange={setText}
            onSave={() => canReview && setReviewing(true)}
          />
        </div>
      ) : (
        <EditorLoading />
      )}
      {isReviewing && parsed && (
        <Review
          title={`Review changes of ${name}`}
          path={objectPath(kind, namespace, name)}
          draft={parsed.value}
          base={base}
          live={object}
          onClose={() => setReviewing(false)}
          onSaved={saved => {
            setReviewing(false)
            show(editable(kind, saved))
            toast(`Saved ${name}`)
          }}
        />
      )}
    </div>
  )
}
