// Lines to paste: a button copies them. Older browsers, and pages that are not from a
// server, may lack the clipboard; then a selection is copied.
for (const button of document.querySelectorAll("[data-copy]")) {
  const code = button.closest(".snippet").querySelector("code");

  function copySelection() {
    const selection = window.getSelection();
    selection.selectAllChildren(code);
    const done = document.execCommand("copy");
    if (done) selection.removeAllRanges();
    return done;
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(code.textContent);
      return true;
    } catch {
      return copySelection();
    }
  }

  button.hidden = false;
  button.addEventListener("click", async () => {
    button.textContent = (await copy()) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
}
