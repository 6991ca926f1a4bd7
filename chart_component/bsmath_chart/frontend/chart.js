// A Plotly chart that is changed in place: zoom and hidden traces stay, and nothing flickers.
//
// data.figure is a figure as JSON text, data.alt the chart in words, data.config Plotly's configuration. The look (font, colors,
// grid) is that of the page's theme, which Streamlit hands down as CSS variables.

let loading

function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script")
    script.src = new URL("./plotly.min.js", import.meta.url)
    script.onload = () => resolve(window.Plotly)
    script.onerror = () => reject(new Error("plotly.min.js could not be loaded"))
    document.head.append(script)
  })
  return loading
}

function theme(element) {
  const style = getComputedStyle(element)
  const named = (name) => style.getPropertyValue(`--st-${name}`).trim()
  return {
    font: named("font"),
    text: named("text-color"),
    background: named("background-color"),
    primary: named("primary-color"),
  }
}

// A color as Plotly can read it, partly transparent.
function faded(color, share) {
  const pen = document.createElement("canvas").getContext("2d")
  pen.fillStyle = color
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(pen.fillStyle.slice(at, at + 2), 16))
  return `rgba(${red},${green},${blue},${share})`
}

function template({ font, text, background, primary }) {
  const soft = faded(text, 0.7), faint = faded(text, 0.12), clear = "rgba(0,0,0,0)"
  const axis = {
    automargin: true,
    zeroline: false,
    ticklabelstandoff: 4,
    tickfont: { color: soft, size: 12 },
    title: { font: { color: soft, size: 14 }, standoff: 12 },
  }
  return {
    layout: {
      font: { family: font, size: 12, color: text },
      paper_bgcolor: clear,
      plot_bgcolor: clear,
      xaxis: { ...axis, showgrid: false },
      yaxis: { ...axis, gridcolor: faint },
      coloraxis: { colorbar: { outlinewidth: 0, tickfont: { color: soft } } },
      legend: { font: { color: text, size: 12 } },
      hoverlabel: { bgcolor: background, bordercolor: faint, font: { family: font, color: text, size: 13 } },
      modebar: { color: soft, activecolor: primary, bgcolor: clear },
    },
  }
}

// What a user did to the axes is kept as long as they mean the same.
function meaning(layout) {
  const axes = [layout.xaxis, layout.yaxis]
  return axes.map((axis) => `${axis?.title?.text} ${axis?.type}`).join(" / ")
}

// Ranges that a user has set, by axis; Plotly itself forgets them where the figure's own ranges move.
function zoomed(box) {
  const kept = {}
  for (const axis of ["xaxis", "yaxis"]) {
    const now = box._fullLayout?.[axis]?.range, given = box.given?.[axis]?.range
    if (now && given && String(now) !== String(given)) kept[`${axis}.range`] = [...now]
  }
  return kept
}

const fullScreen = {
  name: "Full screen",
  title: "Full screen",
  icon: { width: 24, height: 24, path: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z" },
  click: (box) => (document.fullscreenElement ? document.exitFullscreen() : box.requestFullscreen()),
}

function makeBox(parent) {
  const box = document.createElement("div")
  box.className = "bsmath-chart"
  box.dataset.testid = "stPlotlyChart" // where programs look for a chart of Streamlit's own
  box.setAttribute("role", "figure")
  box.style.width = "100%"
  parent.append(box)
  box.fit = new ResizeObserver(() => {
    if (box.querySelector(".main-svg") && box.offsetParent) window.Plotly.Plots.resize(box)
  })
  return box
}

async function draw(box, figure, config, look) {
  const { data, layout } = JSON.parse(figure)
  const isFull = document.fullscreenElement === box
  box.style.height = `${layout.height}px`
  box.style.background = look.background
  const shown = { ...layout, template: template(look), uirevision: meaning(layout), autosize: true }
  if (!isFull) shown.height = layout.height
  const Plotly = await plotly()
  if (!box.isConnected) return
  const kept = box.given && meaning(box.given) === meaning(layout) ? zoomed(box) : {}
  box.given = structuredClone({ xaxis: layout.xaxis, yaxis: layout.yaxis })
  await Plotly.react(box, data, shown, { ...config, responsive: false, modeBarButtonsToAdd: [fullScreen] })
  if (Object.keys(kept).length) await Plotly.relayout(box, kept)
  box.fit.observe(box)
}

export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".bsmath-chart") ?? makeBox(parentElement)
  box.setAttribute("aria-label", data.alt)
  const look = theme(box), wanted = data.figure + JSON.stringify(look)
  if (box.wanted !== wanted) {
    box.wanted = wanted
    draw(box, data.figure, data.config, look).catch((error) => {
      box.textContent = `This chart could not be drawn (${error.message}); its data are in the table below.`
    })
  }
  return () => {
    box.fit.disconnect()
    if (box.querySelector(".main-svg")) window.Plotly.purge(box)
    box.remove()
  }
}
