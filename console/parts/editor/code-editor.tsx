/**
 * The YAML editor: CodeMirror inside a shadow root. There its styles are adopted sheets, which the content security policy allows, where
 * style elements would be refused.
 */
import { autocompletion, completionKeymap } from '@codemirror/autocomplete'
import { history, historyKeymap, indentWithTab, standardKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { codeFolding, foldGutter, foldKeymap, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'preact/hooks'
import { type KindSchema, schemaAt } from '../../core/openapi.ts'
import { completeFrom, documentation, placeAt } from './completion.ts'

export type EditorMark = { readonly from: number; readonly to: number; readonly message: string; readonly severity?: 'error' | 'warning' }

type EditorProps = {
  readonly label: string
  /** The text to begin with. A new object replaces the text of the editor; typing does not come back through here. */
  readonly source: { readonly text: string }
  readonly schema?: KindSchema | undefined
  readonly marks?: readonly EditorMark[]
  onChange(text: string): void
  onSave?(): void
  readonly isReadOnly?: boolean
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--syn-key)' },
  { tag: [tags.string, tags.content], color: 'var(--syn-string)' },
  { tag: [tags.number, tags.integer, tags.float], color: 'var(--syn-number)' },
  { tag: [tags.bool, tags.null, tags.keyword, tags.atom], color: 'var(--syn-atom)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--syn-comment)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--muted)' },
])

const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '12.5px', backgroundColor: 'var(--surface)', color: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', padding: '10px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--faint)', border: 'none', paddingRight: '4px' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 6%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 26%, transparent)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--border)',
    borderRadius: '8px',
    boxShadow: 'var(--shadow-l)',
  },
  '.cm-tooltip-autocomplete ul': { fontFamily: 'var(--mono)', maxHeight: '18em' },
  '.cm-tooltip-autocomplete ul li': { padding: '3px 8px', lineHeight: '1.5' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--selected)', color: 'var(--text)' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-completionDetail': { color: 'var(--faint)', fontStyle: 'normal', marginLeft: '1em' },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent)' },
  '.docs': {
    maxWidth: '26rem',
    padding: '8px 10px',
    fontFamily: 'var(--font)',
    fontSize: '12px',
    lineHeight: '1.45',
    whiteSpace: 'pre-wrap',
  },
  '.docs p': { margin: '4px 0 0', color: 'var(--muted)' },
  '.docs span': { color: 'var(--faint)' },
  '.cm-tooltip.cm-completionInfo': { padding: '0' },
  '.cm-diagnostic': { padding: '4px 10px', fontFamily: 'var(--font)', fontSize: '12px' },
  '.cm-diagnostic-error': { borderLeft: '3px solid var(--bad-fill)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--hover)', border: 'none', color: 'var(--muted)', padding: '0 6px' },
})

export function CodeEditor({ label, source, schema, marks = [], onChange, onSave, isReadOnly = false }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  // Extensions are made once; they read the current properties here.
  const now = useRef({ schema, onChange, onSave })
  now.current = { schema, onChange, onSave }

  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: source.text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          codeFolding(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          yaml(),
          indentUnit.of('  '),
          syntaxHighlighting(colours),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorState.readOnly.of(isReadOnly),
          autocompletion({ override: [completeFrom(() => now.current.schema)], icons: false }),
          hoverTooltip((view, pos) => {
            const known = now.current.schema
            const line = view.state.doc.lineAt(pos)
            const key = /^(\s*(?:- +)*)([\w.-]+):/.exec(line.text)
            if (!known || !key || pos < line.from + key[1]!.length || pos > line.from + key[0].length) return null
            const { path } = placeAt(view.state.doc, line.from + key[1]!.length)
            const found = schemaAt(known, [...path, key[2]!])
            if (!found?.description) return null
            return {
              pos: line.from + key[1]!.length,
              end: line.from + key[0].length,
              above: true,
              create: () => ({ dom: documentation(key[2]!, found, known.all) }),
            }
          }),
          keymap.of([
            {
              key: 'Mod-s',
              run() {
                now.current.onSave?.()
                return true
              },
            },
            // Tab indents; Escape and then Tab leaves the editor.
            ...completionKeymap,
            ...historyKeymap,
            ...foldKeymap,
            ...lintKeymap,
            indentWithTab,
            ...standardKeymap,
          ]),
          EditorView.domEventHandlers({
            // Left to the browser, text in place of several lines gets style attributes, which the content security policy refuses.
            beforeinput(event, view) {
              const { inputType, data } = event as InputEvent
              if (inputType !== 'insertText' || !data || view.composing || view.state.selection.main.empty) return false
              event.preventDefault()
              view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
              return true
            },
          }),
          EditorView.updateListener.of(update => {
            if (update.docChanged) now.current.onChange(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [])

  useEffect(() => {
    const editor = view.current
    if (!editor || editor.state.doc.toString() === source.text) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: source.text } })
  }, [source])

  useEffect(() => {
    const editor = view.current
    if (!editor) return
    const { length } = editor.state.doc
    const diagnostics = marks.map(
      ({ from, to, message, severity = 'error' }): Diagnostic => ({
        from: Math.min(from, length),
        to: Math.min(Math.max(from, to), length),
        message,
        severity,
      }),
    )
    editor.dispatch(setDiagnostics(editor.state, diagnostics))
  }, [marks])

  return <div class="cm-host" ref={host} />
}
