// Names and focus for people who use a keyboard or a screen reader, where the theme leaves them out (axe-core's rules summary-name,
// label-content-name-mismatch and scrollable-region-focusable).
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("nav summary")) summary.setAttribute("aria-label", "Pages of this section");
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
  for (const table of document.querySelectorAll(".pst-scrollable-table-container > table")) table.tabIndex = 0;
});
