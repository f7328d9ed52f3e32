/** Bodies of recorded requests, for users who may see them. */
import { useEffect, useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { get, messageOf } from '../../core/api.ts'
import { toastError } from '../../core/toasts.ts'
import { forPeople, yamlText } from '../../core/yaml-lines.ts'
import { CopyButton, Spinner, useAsync } from '../../parts/basics.tsx'

const PATH = '/keelson/v1/requests/bodies'
/** The server stops some minutes after the last look. */
const LOOK_AGAIN_MS = 60_000

export function useBodyRecording(): { isAllowed: boolean; isOn: boolean; toggle(): void } {
  const [isOn, setOn] = useState(false)
  const isAllowed = may({ verb: 'get', path: PATH }).value === true
  useEffect(() => {
    if (!isOn) return
    const look = () =>
      void get(PATH).catch(error => {
        toastError('Bodies are not recorded', error)
        setOn(false)
      })
    look()
    const timer = setInterval(look, LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [isOn])
  return { isAllowed, isOn, toggle: () => setOn(!isOn) }
}

type Body = { mediaType: string; bytes: number; text?: string }

export function Bodies({ number, auditID }: { number: number; auditID: string }) {
  const { value, error } = useAsync(
    signal => get<{ request?: Body; response?: Body }>(`${PATH}?number=${number}&auditID=${encodeURIComponent(auditID)}`, { signal }),
    [number, auditID],
  )
  if (error) return <p class="muted">{messageOf(error)}</p>
  if (!value) return <Spinner />
  return (
    <div class="columns-2">
      {(['request', 'response'] as const).map(name => (
        <BodyView key={name} title={name === 'request' ? 'Sent' : 'Answered'} body={value[name]} />
      ))}
    </div>
  )
}

function BodyView({ title, body }: { title: string; body: Body | undefined }) {
  const text = body?.text === undefined ? undefined : readable(body.text)
  return (
    <section class="stack" aria-label={`${title} body`}>
      <h3 class="row">
        {title}
        {body && (
          <span class="faint small">
            {body.mediaType}, {body.bytes.toLocaleString()} bytes
          </span>
        )}
        {text && <CopyButton text={text} label={`Copy the ${title.toLowerCase()} body`} />}
      </h3>
      {text ? (
        <pre class="code request-body" tabIndex={0}>
          {text}
        </pre>
      ) : (
        <p class="muted">{!body ? 'No body.' : 'Not shown: it is no text, or too long.'}</p>
      )}
    </section>
  )
}

/** JSON as YAML without managed fields, as everywhere in the console; other texts as they are. */
function readable(text: string): string {
  try {
    const value = JSON.parse(text)
    return yamlText(value?.metadata && value.kind ? forPeople(value) : value)
  } catch {
    return text
  }
}
