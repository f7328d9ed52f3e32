/** Toasts, in a corner, read out by screen readers. */
import { dismiss, toasts } from '../core/toasts.ts'
import { Icon } from './icons.tsx'

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, text, details }) => (
        <div class={`toast toast-${tone}`} key={id}>
          <Icon name={tone === 'good' ? 'check' : tone === 'bad' ? 'alert' : 'info'} />
          <div class="grow">
            {text}
            {details.map(detail => (
              <div class="small muted" key={detail}>
                {detail}
              </div>
            ))}
          </div>
          <button type="button" class="button button-plain button-small button-icon" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" size={12} />
          </button>
        </div>
      ))}
    </div>
  )
}
