/** The state of a draft in a line, and every problem at its field below. */
import { messageOf } from '../../core/api.ts'
import type { Verdict } from '../../parts/editor/validation.ts'
import type { YamlProblem } from '../../parts/editor/yaml-tree.ts'
import { Icon } from '../../parts/icons.tsx'

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length

export function Verdicts({ verdict, problems, text }: { verdict: Verdict; problems: readonly YamlProblem[]; text: string }) {
  if (problems.length > 0)
    return (
      <div class="verdict bad" role="status">
        <Icon name="alert" />
        <ul>
          {problems.slice(0, 5).map(({ from, message }) => (
            <li key={`${from}${message}`}>
              Line {lineOf(text, from)}: {message}
            </li>
          ))}
        </ul>
      </div>
    )
  if (verdict.state === 'checking')
    return (
      <div class="verdict muted" role="status">
        <span class="spinner" aria-hidden="true" /> Checking with the server
      </div>
    )
  if (verdict.state === 'valid')
    return (
      <div class="verdict good" role="status">
        <Icon name="check" />
        <ul>
          <li>The server would accept this</li>
          {verdict.warnings.map(text => (
            <li key={text} class="warn">
              {text}
            </li>
          ))}
        </ul>
      </div>
    )
  if (verdict.state === 'invalid')
    return (
      <div class="verdict bad" role="status">
        <Icon name="alert" />
        <ul>
          {verdict.causes.length > 0
            ? verdict.causes.map(({ field, message }) => (
                <li key={`${field}${message}`}>
                  {field && field !== '<nil>' && <code class="strong">{field}</code>} {message}
                </li>
              ))
            : messageOf(verdict.error)}
        </ul>
      </div>
    )
  return <div class="verdict faint small">Completion: Ctrl-Space. Documentation: point at a field. Save: Ctrl-S.</div>
}
