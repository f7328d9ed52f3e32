/** The editor, loaded when the first one is shown. */
import { useEffect, useState } from 'preact/hooks'
import { Spinner } from '../basics.tsx'

type Loaded = typeof import('./code-editor.tsx') & typeof import('./yaml-tree.ts')
let loaded: Loaded | undefined

/** The editor and its parser, once they are here. */
export function useEditor(): Loaded | undefined {
  const [editor, setEditor] = useState(loaded)
  useEffect(() => {
    if (editor) return
    void Promise.all([import('./code-editor.tsx'), import('./yaml-tree.ts')]).then(([view, tree]) => {
      loaded = { ...view, ...tree }
      setEditor(loaded)
    })
  }, [])
  return editor
}

export const EditorLoading = () => (
  <div class="editor-box">
    <Spinner label="Loading the editor" />
  </div>
)
