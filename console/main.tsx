/** The entry of the console: loaded before the first page is seen. */
import { render } from 'preact'
import './style.css'

function App() {
  return <h1>Keelson</h1>
}

render(<App />, document.getElementById('app')!)
